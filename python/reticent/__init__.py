"""Bayesian posteriors that may be published, under differential privacy."""
