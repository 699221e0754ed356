// A file's text, as the test runner's bundler imports it.
declare module "*?raw" {
  const text: string;
  export default text;
}
