/**
 * What is mostly there at once, and else later. Most of what a request might wait for is known to the isolate; a promise
 * for each such step is what a gateway in a Worker would spend most of its own time on.
 */
export type Soon<T> = T | Promise<T>;
