// Tests the cursors and entity tags that clients send back.
import { base64url } from "jose";
import { describe, expect, it } from "vitest";
import { cursorOf, positionOf, seqKnown, tagOf } from "../../../../worker/http/fleet-routes.ts";

const encoded = (value: unknown) => base64url.encode(JSON.stringify(value));

describe("a cursor", () => {
  it.each([
    { key: 1.5e15, id: "a" },
    { key: "ä\n", id: "a token" },
  ])("of the same query → %j", (position) => {
    expect(positionOf(cursorOf(position, "digest"), "digest")).toEqual(position);
  });

  it.each([
    ["of another query", cursorOf({ key: 1, id: "a" }, "other")],
    ["that is no base64url", "%%"],
    ["that is no JSON", base64url.encode("x")],
    ["that is no list", encoded({})],
    ["of another shape", encoded(["digest", null, "a"])],
    ["with more", encoded(["digest", 1, "a", 1])],
  ])("%s → none", (_, cursor) => {
    expect(positionOf(cursor, "digest")).toBeNull();
  });
});

it.each([
  ["absent", undefined, null],
  ["of this request", tagOf(17, "digest"), 17],
  ["one of several", `"x", ${tagOf(17, "digest")}`, 17],
  ["that is not weak any more", `"7-digest"`, 7],
  ["of another request", tagOf(7, "other"), null],
  ["anything", "*", null],
])("an entity tag %s", (_, header, seq) => {
  expect(seqKnown(header, "digest")).toBe(seq);
});
