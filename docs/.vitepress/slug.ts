// The anchor of a heading, as GitHub makes it: the same link works there, in the site, and for the tests of documents.

export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
