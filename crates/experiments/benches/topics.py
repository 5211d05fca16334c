"""Fits scikit-learn's online LDA to documents given as numbers, and writes its topics: the topics of each word side by side."""

import sys

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation

folder, words, topics, passes, batch, seed = sys.argv[1], *map(int, sys.argv[2:])
starts = np.fromfile(f"{folder}/starts", np.uint64).astype(np.int64)
places = np.fromfile(f"{folder}/words", np.uint32).astype(np.int32)
counts = np.fromfile(f"{folder}/counts", np.uint32).astype(np.float64)
documents = sp.csr_matrix((counts, places, starts), shape=(len(starts) - 1, words))
model = LatentDirichletAllocation(
    n_components=topics,
    doc_topic_prior=1 / topics,
    topic_word_prior=1 / topics,
    learning_method="online",
    max_iter=passes,
    batch_size=batch,
    random_state=seed,
)
model.fit(documents).components_.T.astype(np.float64).tofile(f"{folder}/topics")
