// Tests that the reader lists objects in pages, and refuses answers that do not come from an apiserver.
import { expect, test } from "vitest";
import { type ClusterReader, listAll, parseAnswer } from "../../../infra/impact/cluster-reader.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

const page = (items: number[], next?: string) =>
  success({ items, metadata: { ...(next && { continue: next }) } });
const expired = failure({ reason: "expired", message: "too old" } as const);

function reader(answers: Awaited<ReturnType<ClusterReader["get"]>>[]) {
  const asked: string[] = [];
  const get = (path: string) => {
    asked.push(path);
    return Promise.resolve(
      answers[asked.length - 1] ?? failure({ reason: "refused", message: "no more" } as const),
    );
  };
  return { asked, reader: { get, tryNode: get as never } };
}

test.each<
  [
    situation: string,
    answers: Awaited<ReturnType<ClusterReader["get"]>>[],
    listed: Result<unknown[], { reason: string }>,
  ]
>([
  ["one page", [page([1])], success([1])],
  ["two pages", [page([1], "a/b"), page([2])], success([1, 2])],
  [
    "a page that has expired → once more",
    [page([1], "a"), expired, page([1], "a"), page([2])],
    success([1, 2]),
  ],
  ["expired twice", [page([1], "a"), expired, page([1], "a"), expired], expired],
  ["no list", [success({ kind: "Status" })], failure({ reason: "not-kubernetes" })],
])("%s", async (_, answers, listed) => {
  expect(await listAll(reader(answers).reader, "/api/v1/nodes")).toMatchObject(listed);
});

test("each page is asked for with a limit, and the next one by its token", async () => {
  const { reader: from, asked } = reader([page([1], "a/b="), page([2])]);
  await listAll(from, "/api/v1/nodes");
  expect(asked).toEqual(["/api/v1/nodes?limit=500", "/api/v1/nodes?limit=500&continue=a%2Fb%3D"]);
});

test("a web page → a fault that begins with its text", () => {
  expect(parseAnswer("<html>\n <title>Sign in</title>")).toEqual(
    failure({ reason: "not-kubernetes", message: "the answer is no JSON: <html> <title>Sign in</title>" }),
  );
});
