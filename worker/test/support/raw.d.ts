/** A file's text, as the tests' bundler gives it. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** A file's bytes, as a `data:` URL in base64. */
declare module "*?url&inline" {
  const url: string;
  export default url;
}
