// Checks the documentation's site: the sidebar has each page once, and links to source files become links of the site.
import { describe, expect, it, test } from "vitest";
import { type SiteLink, siteLink } from "../../docs/.vitepress/links.ts";
import { GROUPS, sidebarOf, sitePages } from "../../docs/.vitepress/pages.ts";

describe("the sidebar", () => {
  it("has every page of the site once", () => {
    const linked = sidebarOf(GROUPS, sitePages()).flatMap(({ items }) => items.map(({ link }) => link));
    expect(linked.sort()).toEqual([...sitePages().keys()].map((page) => `/${page}`).sort());
  });

  it("each page that a group names is there, and is named once", () => {
    const named = GROUPS.flatMap(({ pages }) => pages);
    expect(named.filter((page) => !sitePages().has(page))).toEqual([]);
    expect(named.filter((page, index) => named.indexOf(page) !== index)).toEqual([]);
  });

  it("a page that no group names is under More", () => {
    const pages = new Map([["shim", "docs/shim.md"]]);
    expect(sidebarOf([], pages)).toEqual([
      { text: "More", items: [{ text: "Running the shim", link: "/shim" }] },
    ]);
  });
});

describe("a link of the sources", () => {
  test.each<[from: string, href: string, link: SiteLink]>([
    ["docs/shim.md", "protocol.md#answers", { kind: "page", href: "/protocol.md#answers" }],
    ["docs/shim.md", "../README.md", { kind: "page", href: "/index.md" }],
    ["docs/shim.md", "../CONTRIBUTING.md", { kind: "page", href: "/contributing.md" }],
    ["CONTRIBUTING.md", "docs/bench.md", { kind: "page", href: "/bench.md" }],
    ["examples/README.md", "../docs/cluster.md#daemonsets", { kind: "page", href: "/cluster.md#daemonsets" }],
    [
      "docs/costs.md",
      "../examples/low-traffic.yaml",
      { kind: "file", href: "/files/examples/low-traffic.yaml.txt", path: "examples/low-traffic.yaml" },
    ],
    ["docs/shim.md", "#sockets", { kind: "as it is" }],
    ["docs/shim.md", "https://kubernetes.io/docs", { kind: "as it is" }],
    ["docs/shim.md", "mailto:security@example.com", { kind: "as it is" }],
  ])("in %s to %s → %j", (from, href, link) => {
    expect(siteLink(from, href)).toEqual(link);
  });
});
