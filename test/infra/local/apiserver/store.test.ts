import { expect, test } from "vitest";
import { createHistory } from "../../../../infra/local/apiserver/store.ts";
import type { ApiObject } from "../../../../infra/local/apiserver/object.ts";

function object(name: string): ApiObject {
  return { kind: "K", apiVersion: "v1", metadata: { name } };
}

/** Returns a change whose JSON is ten characters long. */
function change(revision: number, resource = "things") {
  return { type: "ADDED" as const, resource, object: object(`${revision}`), text: "x".repeat(10), revision };
}

test("the changes of one resource after a revision, oldest first", () => {
  const history = createHistory(1, 1_000);
  for (const [revision, resource] of [
    [2, "a"],
    [3, "b"],
    [4, "a"],
    [5, "a"],
  ] as const) {
    history.record(change(revision, resource));
  }
  const revisions = (since: number) => {
    const changes = history.changesSince("a", since);
    return changes === "gone" ? changes : changes.map(({ revision }) => revision);
  };
  expect([1, 2, 4, 5, 9].map(revisions)).toEqual([[2, 4, 5], [4, 5], [5], [], []]);
  expect(revisions(0)).toBe("gone");
});

test("what is over the limit is gone: the older half", () => {
  const history = createHistory(1, 100);
  for (let revision = 2; revision <= 11; revision++) history.record(change(revision));
  expect(history.changesSince("things", 1)).toHaveLength(10);
  history.record(change(12));
  expect(history.changesSince("things", 6)).toBe("gone");
  expect(history.changesSince("things", 7)).toHaveLength(5);
});

test("a change that is over the limit alone is kept for those who come next", () => {
  const history = createHistory(1, 5);
  history.record(change(2));
  history.record(change(3));
  expect(history.changesSince("things", 2)).toHaveLength(1);
});

test("listeners are told of one resource or of all, until they end it", () => {
  const history = createHistory(1, 100);
  const told: string[] = [];
  const end = history.subscribe(({ revision }) => told.push(`things ${revision}`), "things");
  history.subscribe(({ revision }) => told.push(`all ${revision}`));
  history.record(change(2));
  history.record(change(3, "others"));
  end();
  history.record(change(4));
  expect(told).toEqual(["things 2", "all 2", "all 3", "all 4"]);
});
