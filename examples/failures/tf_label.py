"""TensorFlow: a label beyond the classes. The CPU raises; on a GPU the loss becomes NaN."""

import tensorflow as tf

logits = tf.random.normal((4, 3))
print(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2, 3, 1], logits=logits))
