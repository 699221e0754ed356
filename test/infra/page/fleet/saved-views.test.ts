// Tests which saved views a browser shows, and how a view is saved.
import { describe, expect, it } from "vitest";
import { savedViews, withView } from "../../../../infra/page/fleet/saved-views.tsx";

const view = (name: string, href = "/?q=berlin") => ({ name, href });

describe("the kept views", () => {
  it.each([
    ["nothing", null, []],
    ["no JSON", "{", []],
    ["no list", "{}", []],
    ["a view", JSON.stringify([view("Berlin")]), [view("Berlin")]],
    ["the whole fleet", JSON.stringify([view("All", "/")]), [view("All", "/")]],
    ["another site’s address", JSON.stringify([view("a", "https://example.com/")]), []],
    ["another host’s address", JSON.stringify([view("a", "//example.com/")]), []],
    ["a script", JSON.stringify([view("a", "javascript:alert(1)")]), []],
    ["other things", JSON.stringify([null, 1, { name: "a" }]), []],
  ])("%s → its views", (_, kept, shown) => expect(savedViews(kept)).toEqual(shown));
});

describe("saving a view", () => {
  it("a new name → in the order of the names", () =>
    expect(withView([view("site 10")], view("site 2")).map(({ name }) => name)).toEqual([
      "site 2",
      "site 10",
    ]));

  it("a name that exists → in its place", () =>
    expect(withView([view("Berlin")], view("Berlin", "/"))).toEqual([view("Berlin", "/")]));

  it("one more than 50 → still 50, with the new one", () => {
    const many = Array.from({ length: 50 }, (_, at) => view(`view ${at}`));
    const after = withView(many, view("zoo"));
    expect([after.length, after.at(-1)?.name]).toEqual([50, "zoo"]);
  });
});
