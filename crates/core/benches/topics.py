"""Times the E-step of scikit-learn's LatentDirichletAllocation on documents given as numbers, one thread: one line of JSON."""

import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma
from sklearn.decomposition import LatentDirichletAllocation

folder, topics, words = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
starts = np.fromfile(f"{folder}/starts", np.uint64).astype(np.int64)
places = np.fromfile(f"{folder}/words", np.uint64).astype(np.int32)
counts = np.fromfile(f"{folder}/counts", np.float32).astype(np.float64)
components = np.fromfile(f"{folder}/lambda", np.float64).reshape(words, topics).T.copy()
documents = sp.csr_matrix((counts, places, starts), shape=(len(starts) - 1, words))

model = LatentDirichletAllocation(
    n_components=topics, learning_method="batch", max_iter=1, doc_topic_prior=1 / topics, topic_word_prior=1 / topics
)
model.fit(documents[:100])
model.components_ = components

model.exp_dirichlet_component_ = np.exp(digamma(components) - digamma(components.sum(axis=1))[:, None])
seconds = []
for _ in range(7):
    start = time.process_time()
    model._e_step(documents, cal_sstats=True, random_init=False, parallel=None)
    seconds.append(time.process_time() - start)
print(json.dumps({"documents": documents.shape[0], "seconds": min(seconds)}))
