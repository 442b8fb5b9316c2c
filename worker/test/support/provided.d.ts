import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Whether the tests that try many inputs try all of theirs, as CI does. */
    long: boolean;
  }
}
