// Tests how the variables of a deployment make the receiver of usage.
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import type { Environment } from "../../../worker/env.ts";
import { usageReceiver } from "../../../worker/gateway/usage-receiver.ts";

const receiver = (more: Partial<Environment>) => usageReceiver({ ...env, ...more });
afterEach(() => void vi.restoreAllMocks());

it.each([undefined, "", "otel.test", "https://a:b@otel.test/v1/metrics"])("URL %j → none", (url) => {
  expect(receiver(url === undefined ? {} : { USAGE_OTLP_URL: url })).toBeNull();
});

it.each<[header: string | undefined, sent: object]>([
  [undefined, {}],
  ["Authorization: Bearer abc", { Authorization: "Bearer abc" }],
  ["no header", {}],
])("header %j → %j, and no redirect is followed", async (header, sent) => {
  const asked = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response());
  const { signal } = new AbortController();
  const more = header === undefined ? {} : { USAGE_OTLP_HEADER: header };
  await receiver({ USAGE_OTLP_URL: "https://otel.test/v1/metrics", ...more })?.post("{}", signal);
  const headers = { "content-type": "application/json", ...sent };
  const request = { method: "POST", headers, body: "{}", redirect: "manual", signal };
  expect(asked.mock.calls).toEqual([["https://otel.test/v1/metrics", request]]);
});

it("without labels nothing asks the index, which returns no machine without a Node", async () => {
  const url = { USAGE_OTLP_URL: "https://otel.test/v1/metrics" };
  expect(receiver(url)?.labels).toBeNull();
  expect(await receiver({ ...url, USAGE_OTLP_LABELS: "site rack" })?.labels?.(["edge-1"])).toEqual({});
});
