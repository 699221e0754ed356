// Tests how npm start interprets the apiserver's refusals of the administrator's requests.
import { expect, test } from "vitest";
import { adminReader } from "../../../../infra/local/users-cluster.ts";
import { ApiRefusal } from "../../../../infra/local/kube-admin.ts";

test.each<[situation: string, error: Error, reason: string, message: string]>([
  ["forbidden", new ApiRefusal(403, '{"message":"cannot list"}'), "forbidden", "cannot list"],
  ["absent", new ApiRefusal(404, "{}"), "absent", "{}"],
  ["expired", new ApiRefusal(410, '{"message":"too old"}'), "expired", "too old"],
  ["refused by a policy", new ApiRefusal(422, '{"message":"denied"}'), "refused", "denied"],
  ["a proxy's page", new ApiRefusal(502, "<html>"), "refused", "<html>"],
  ["no JSON", new SyntaxError("Unexpected token <"), "not-kubernetes", "Unexpected token <"],
  ["no connection", Object.assign(new Error("x"), { code: "ECONNREFUSED" }), "unreachable", "ECONNREFUSED"],
])("%s → %s", async (_, error, reason, message) => {
  const reader = adminReader(() => Promise.reject(error));
  expect(await reader.get("/version")).toEqual({ ok: false, error: { reason, message } });
});

test("the dry run says so in its query", async () => {
  const asked: unknown[] = [];
  const reader = adminReader((request) => Promise.resolve(asked.push(request)));
  await reader.tryNode({ metadata: { name: "n" } });
  expect(asked).toEqual([
    { method: "POST", path: "/api/v1/nodes?dryRun=All", body: { metadata: { name: "n" } } },
  ]);
});
