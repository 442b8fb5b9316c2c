/** What is made with the first use and kept: an isolate that starts has better things to do. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
