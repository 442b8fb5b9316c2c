/** A file's text, as the tests' bundler gives it. */
declare module "*?raw" {
  const text: string;
  export default text;
}
