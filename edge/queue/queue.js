// The object with our own queue.

const QUEUE = "edgezoom-jobs";

/** Returns the object with the messages of the queue, by its namespace. */
export const queueOf = (namespace) => namespace.getByName(QUEUE);
