import { describe, expect, it } from "vitest";
import { hrefOf, routeOf, withRest } from "../../../../infra/page/base/route.ts";

describe("where a URL leads", () => {
  it.each([
    ["", { view: "fleet" }],
    ["?view=fleet", { view: "fleet" }],
    ["?view=approvals", { view: "approvals" }],
    ["?view=no-such-view", { view: "fleet" }],
    ["?machine=edge-1", { view: "machine", machine: "edge-1" }],
    ["?machine=edge-1&view=tokens", { view: "machine", machine: "edge-1" }],
    ["?machine=", { view: "fleet" }],
  ])("%s", (search, place) => {
    expect(routeOf(search)).toMatchObject(place);
  });

  it("what is the view's own is kept beside it", () => {
    expect([...routeOf("?view=audit&by=machines&q=a%2Bb").rest]).toEqual([
      ["by", "machines"],
      ["q", "a+b"],
    ]);
  });
});

describe("the URL of a place leads back to it", () => {
  it.each(["/", "/?q=edge+%26+shop", "/?machine=edge-1.example&range=7d", "/?view=tokens"])("%s", (href) => {
    const route = routeOf(href.slice(1));
    expect(withRest(route, {})).toBe(href);
  });

  it.each([
    ["another value", { range: "1h" }, "/?machine=edge-1&range=1h"],
    ["none any more", { range: undefined }, "/?machine=edge-1"],
    ["an empty one is none", { range: "" }, "/?machine=edge-1"],
    ["one more", { at: "5" }, "/?machine=edge-1&range=7d&at=5"],
  ])("%s", (_, changes, href) => {
    expect(withRest(routeOf("?machine=edge-1&range=7d"), changes)).toBe(href);
  });

  it("a name is escaped", () => {
    expect(hrefOf({ machine: "a&view=tokens" })).toBe("/?machine=a%26view%3Dtokens");
  });
});
