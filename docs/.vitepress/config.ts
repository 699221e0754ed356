// The documentation as a site: `npm run site` builds it into docs/.vitepress/dist/, a folder of static files for any web server.
// A link that leads nowhere fails it. It loads nothing from elsewhere, and its search runs in the browser.
import { copyFileSync, globSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { defineConfig, type MarkdownOptions } from "vitepress";
import { copyOf, siteLink } from "./links.ts";
import { ELSEWHERE, GROUPS, repository, sidebarOf, sitePages } from "./pages.ts";
import { slug } from "./slug.ts";

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** Markdown of the repository that is no page of the site. */
function otherMarkdown(): string[] {
  const site = new Set([...sitePages().values(), "docs/index.md"]);
  const exclude = (path: string) => path.endsWith("node_modules");
  return globSync("**/*.md", { cwd: repository, exclude }).filter((path) => !site.has(path));
}

/** Files that pages link to, by their paths in the repository: copied when all pages are rendered. */
const linkedFiles = new Set<string>();

function repositoryLinks(md: MarkdownIt): void {
  md.core.ruler.push("repository-links", (state) => {
    const env = state.env as { realPath?: string };
    // Without a path it is rendered for the search alone, which takes no links.
    if (env.realPath === undefined) return;
    const from = relative(repository, env.realPath);
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href === null) continue;
      const link = siteLink(from, href);
      if (link.kind !== "as it is") token.attrSet("href", link.href);
      if (link.kind === "file") linkedFiles.add(link.path);
    }
  });
}

/** An indented block looks like one between fences: the theme has no style for another. */
function indentedBlocks(md: MarkdownIt): void {
  md.core.ruler.push("indented-blocks", ({ tokens }) => {
    for (const token of tokens)
      if (token.type === "code_block") Object.assign(token, { type: "fence", info: "" });
  });
}

function copyLinkedFiles(outDir: string): void {
  for (const path of linkedFiles) {
    const source = join(repository, path);
    if (!statSync(source, { throwIfNoEntry: false })?.isFile())
      throw new Error(`a page links to ${path}, which is no file: link to a page or to a file`);
    const copy = join(outDir, copyOf(path));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(source, copy);
  }
}

export default defineConfig({
  title: "rollcall",
  description: "kubectl get nodes tells the truth about machines without a kubelet",
  lang: "en",
  srcDir: "..",
  srcExclude: otherMarkdown(),
  rewrites: { ...ELSEWHERE, "docs/:page.md": ":page.md" },
  cacheDir: "../node_modules/.cache/vitepress",
  markdown: {
    anchor: { slugify: slug },
    config: (md) => [repositoryLinks, indentedBlocks].forEach((change) => change(md)),
  },
  buildEnd: ({ outDir }) => copyLinkedFiles(outDir),
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: sidebarOf(GROUPS, sitePages()),
  },
  // What vite 5 asks for by itself, today's esbuild no longer makes.
  vite: { build: { target: "es2022" } },
});
