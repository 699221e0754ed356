import { expect, test } from "vitest";
import { createHistory, rollBack } from "../../../../infra/local/apiserver/history.ts";
import type { ApiObject } from "../../../../infra/local/apiserver/object.ts";

function object(name: string, value = ""): ApiObject {
  return { kind: "K", apiVersion: "v1", metadata: { name }, value };
}

/** A change whose JSON is ten characters long. */
function change(revision: number, resource = "things") {
  return { type: "ADDED" as const, resource, object: object(`${revision}`), text: "x".repeat(10), revision };
}

const nameOf = ({ metadata }: ApiObject) => metadata.name ?? "";

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

test("listeners hear of one resource or of all, until they end it", () => {
  const history = createHistory(1, 100);
  const heard: string[] = [];
  const end = history.subscribe(({ revision }) => heard.push(`things ${revision}`), "things");
  history.subscribe(({ revision }) => heard.push(`all ${revision}`));
  history.record(change(2));
  history.record(change(3, "others"));
  end();
  history.record(change(4));
  expect(heard).toEqual(["things 2", "all 2", "all 3", "all 4"]);
});

test("rolled back: what was made is not there, what was changed is as it was, what was deleted is there", () => {
  const now = [object("changed", "new"), object("made"), object("same")];
  const text = "";
  const was = rollBack(
    now,
    [
      {
        type: "MODIFIED",
        resource: "r",
        object: object("changed", "middle"),
        previous: object("changed", "old"),
        text,
        revision: 2,
      },
      { type: "ADDED", resource: "r", object: object("made"), text, revision: 3 },
      {
        type: "MODIFIED",
        resource: "r",
        object: object("changed", "new"),
        previous: object("changed", "middle"),
        text,
        revision: 4,
      },
      {
        type: "DELETED",
        resource: "r",
        object: object("a"),
        previous: object("a", "deleted"),
        text,
        revision: 5,
      },
    ],
    nameOf,
  );
  expect(was).toEqual([object("a", "deleted"), object("changed", "old"), object("same")]);
});
