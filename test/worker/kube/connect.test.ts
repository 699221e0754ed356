// Tests which requests carry the service token of Cloudflare Access.
import { env } from "cloudflare:workers";
import { describe, expect, it, test } from "vitest";
import type { Environment } from "../../../worker/env.ts";
import { kubeConnector, pathTo } from "../../../worker/kube/connect.ts";
import { watchObjects } from "../../../worker/kube/watch-stream.ts";

const TOKEN = { KUBE_ACCESS_CLIENT_ID: "1.access", KUBE_ACCESS_CLIENT_SECRET: "cfast_1" };
const KUBE_URL = "https://kube.example.com";

function asking(more: Partial<Environment>, answer: () => Response = () => Response.json({ metadata: {} })) {
  const sent: { url: string; headers: Headers; redirect: string | undefined }[] = [];
  const fetch = (url: string, { headers, redirect }: RequestInit) => {
    sent.push({ url, headers: new Headers(headers), redirect });
    return Promise.resolve(answer());
  };
  const own = { ...env, KUBE_URL, ...more, KUBE: { fetch } as unknown as Fetcher } as Environment;
  return { own, sent };
}

const serviceTokens = (sent: readonly { headers: Headers }[]) =>
  sent.map(({ headers }) => [headers.get("cf-access-client-id"), headers.get("cf-access-client-secret")]);

const held = { current: () => "cluster-token", instead: () => Promise.resolve(null) };
const clientOf = (own: Environment) => kubeConnector(own, held, () => 0)(1000);

test.each<[situation: string, more: Partial<Environment>, expected: [string, string] | [null, null]]>([
  ["a service token", TOKEN, ["1.access", "cfast_1"]],
  ["none", {}, [null, null]],
  ["half of one", { KUBE_ACCESS_CLIENT_ID: "1.access" }, [null, null]],
  ["the other half", { ...TOKEN, KUBE_ACCESS_CLIENT_ID: "" }, [null, null]],
  ["one that no header can have", { ...TOKEN, KUBE_ACCESS_CLIENT_SECRET: "cfast_1\n" }, [null, null]],
])("%s → %#", async (_, more, expected) => {
  const { own, sent } = asking(more);
  expect(await clientOf(own).getNode("edge-1")).toMatchObject({ ok: true });
  expect(serviceTokens(sent)).toEqual([expected]);
  expect(sent[0]?.headers.get("authorization")).toBe("Bearer cluster-token");
});

describe("with a service token", () => {
  it("the watch carries it as well", async () => {
    const { own, sent } = asking(TOKEN, () => new Response("", { status: 200 }));
    const request = {
      resource: "nodes" as const,
      selector: { labelSelector: "a=b" },
      version: "1",
      timeoutSeconds: 1,
      signal: new AbortController().signal,
    };
    await watchObjects(
      { ...pathTo(own), token: () => "cluster-token" },
      { ...request, onOpen: () => undefined, onChange: () => undefined },
    );
    expect(serviceTokens(sent)).toEqual([["1.access", "cfast_1"]]);
  });

  it("a redirect to another host → not followed, with either secret", async () => {
    const away = () => new Response(null, { status: 302, headers: { location: "https://x.test/" } });
    const { own, sent } = asking(TOKEN, away);
    expect(await clientOf(own).getNode("edge-1")).toMatchObject({ ok: false });
    expect(sent.map(({ url, redirect }) => [new URL(url).origin, redirect])).toEqual([[KUBE_URL, "manual"]]);
  });
});
