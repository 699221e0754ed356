// Which pages the site has, at which addresses, and in which order they stand beside each other. A page of docs/ that no group
// names is under "More": a new page needs no line here to be found.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../", import.meta.url));

/** Pages outside of docs/, by their path in the repository, with their path in the site. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security.md",
  "examples/README.md": "examples.md",
  "infra/prometheus/README.md": "prometheus.md",
};

export interface Group {
  text: string;
  /** Paths in the site, without `.md`. */
  pages: readonly string[];
}

/** Groups of pages, by the reader's task. */
export const GROUPS: readonly Group[] = [
  { text: "Begin", pages: ["concepts", "tutorial", "comparison", "costs"] },
  {
    text: "Run a machine",
    pages: [
      "shim",
      "configuration",
      "drop-ins",
      "node-problem-detector",
      "questions",
      "facts",
      "node-feature-discovery",
      "reporting",
      "examples",
    ],
  },
  {
    text: "Run the deployment",
    pages: [
      "cluster",
      "node-readiness",
      "deploy",
      "apiserver",
      "two-clusters",
      "kubelet-less",
      "upgrading",
      "backup",
      "removing",
      "custom-setters",
    ],
  },
  {
    text: "Operate a fleet",
    pages: [
      "rollcall",
      "page",
      "search",
      "notifications",
      "maintenance",
      "metrics",
      "prometheus",
      "kubectl-top",
      "upgrading-shims",
    ],
  },
  { text: "When something is wrong", pages: ["not-ready", "pending-pods", "operations", "outages"] },
  { text: "Security", pages: ["what-a-machine-can-do", "threat-model", "security"] },
  { text: "Reference", pages: ["api", "protocol", "operators-api", "feed", "glossary", "bench"] },
  { text: "The project", pages: ["architecture", "contributing", "changelog"] },
];

/** Every page of the site but its first one, by its path in the site, without `.md`: its path in the repository. */
export function sitePages(): Map<string, string> {
  const inDocs = readdirSync(join(repository, "docs"))
    .filter((name) => name.endsWith(".md") && name !== "index.md")
    .sort()
    .map((name): [string, string] => [name.slice(0, -".md".length), `docs/${name}`]);
  const elsewhere = Object.entries(ELSEWHERE).map(([path, page]): [string, string] => [
    page.slice(0, -".md".length),
    path,
  ]);
  return new Map([...inDocs, ...elsewhere]);
}

export interface SidebarGroup {
  text: string;
  items: { text: string; link: string }[];
}

/** What groups name and the site has, then whatever else the site has. */
export function sidebarOf(groups: readonly Group[], pages: ReadonlyMap<string, string>): SidebarGroup[] {
  const named = new Set(groups.flatMap((group) => group.pages));
  const others = [...pages.keys()].filter((page) => !named.has(page));
  return [...groups, { text: "More", pages: others }]
    .map(({ text, pages: names }) => ({
      text,
      items: names.flatMap((page) => {
        const path = pages.get(page);
        return path === undefined ? [] : [{ text: titleOf(path), link: `/${page}` }];
      }),
    }))
    .filter(({ items }) => items.length > 0);
}

function titleOf(path: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(repository, path), "utf8"))?.[1];
  if (heading === undefined) throw new Error(`${path} has no heading of the first level: its title`);
  return heading.replaceAll("`", "");
}
