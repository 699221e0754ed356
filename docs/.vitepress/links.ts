// Links of pages lead to files of the repository, so that they work where the sources are read. Here they are made links of the
// site: to the page, or to a copy of a file that is no page.
import { posix } from "node:path";
import { ELSEWHERE } from "./pages.ts";

/** Where copies of linked files are in the site. Their names end with `.txt`: a browser shows them. */
const FILES = "files";

export const copyOf = (path: string) => `${FILES}/${path}.txt`;

export type SiteLink =
  | { kind: "page"; href: string }
  | { kind: "file"; href: string; path: string }
  /** To a heading of the same page, or to another site. */
  | { kind: "as it is" };

/** @param from the page's path in the repository: docs/shim.md */
export function siteLink(from: string, href: string): SiteLink {
  if (/^([a-z]+:|#|\/)/.test(href)) return { kind: "as it is" };
  const [path = "", anchor] = href.split("#");
  const target = posix.normalize(posix.join(posix.dirname(from), path));
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  const page = pageAt(target);
  if (page !== undefined) return { kind: "page", href: `/${page}${suffix}` };
  return { kind: "file", href: `/${copyOf(target)}`, path: target };
}

function pageAt(path: string): string | undefined {
  // What the site opens with takes the README's place.
  if (path === "README.md") return "index.md";
  return ELSEWHERE[path] ?? /^docs\/([\w-]+\.md)$/.exec(path)?.[1];
}
