// What clients are told besides the answer, as Warning headers. Mirrors apiserver's filters/warning.go; keeps nothing
// between requests.

/** How much of warnings a client gets, and of each when there are too many, in characters. */
const totalLimit = 4 * 1024;
const itemLimit = 256;

/** net.NewWarningHeader; undefined for text that no header can carry. */
function headerOf(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be sent
  if (/[\u0000-\u001f\u007f]/.test(text)) return undefined;
  const quoted = text.replaceAll(/[\\"]/g, (letter) => `\\${letter}`);
  // Headers are bytes; these are UTF-8.
  return Buffer.from(`299 - "${quoted}"`).toString("latin1");
}

function cut(text: string): string {
  return Array.from(text).slice(0, itemLimit).join("");
}

/** Once all together are too long, each is cut, until there are too many even so. */
function withinLimits(texts: string[]): string[] {
  const length = (list: string[]) => list.reduce((total, text) => total + Array.from(text).length, 0);
  if (length(texts) <= totalLimit) return texts;
  const kept: string[] = [];
  for (const text of texts.map(cut)) {
    if (length(kept) >= totalLimit) break;
    kept.push(text);
  }
  return kept;
}

/** Adds a header for each warning, once. */
export function addWarnings(response: Response, warnings: string[]): Response {
  const texts = withinLimits([...new Set(warnings)].filter((text) => text !== ""));
  for (const text of texts) {
    const header = headerOf(text);
    if (header !== undefined) response.headers.append("warning", header);
  }
  return response;
}
