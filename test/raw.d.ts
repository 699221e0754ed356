// The type of a file's text when a test imports it with ?raw.
declare module "*?raw" {
  const text: string;
  export default text;
}
