// What the Worker asks of the apiserver goes through here, and is written down: how much, about whom, and which Nodes came
// of it. Changes nothing.
import { createServer, type IncomingMessage } from "node:http";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Cluster } from "./cluster.ts";
import type { KubeRequest } from "./traffic.ts";

export interface KubeDoor {
  url: string;
  requests: KubeRequest[];
  stop: () => Promise<void>;
}

/** `onNode` gets each Node that a write of the Worker's resulted in. */
export async function openKubeDoor(
  { fetch, url }: Pick<Cluster, "fetch" | "url">,
  onNode: (node: Node) => void,
): Promise<KubeDoor> {
  const requests: KubeRequest[] = [];

  async function pass(incoming: IncomingMessage): Promise<{ status: number; text: string }> {
    const body = Buffer.concat((await incoming.toArray()) as Buffer[]).toString();
    const { method = "GET", url: path = "/" } = incoming;
    const asked: KubeRequest = { atMs: performance.now(), method, ...placeOf(path, body), keptBytes: 0 };
    requests.push(asked);
    const headers = Object.fromEntries(
      ["accept", "authorization", "content-type", "user-agent"].map((name) => [
        name,
        String(incoming.headers[name] ?? ""),
      ]),
    );
    const response = await fetch(new Request(url + path, { method, headers, ...(body !== "" && { body }) }));
    const text = await response.text();
    if (response.ok && ["POST", "PUT", "PATCH"].includes(method)) {
      asked.keptBytes = Buffer.byteLength(text);
      if (asked.kind === "nodes") onNode(JSON.parse(text) as Node);
    }
    return { status: response.status, text };
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming)
      .then(({ status, text }) => {
        outgoing.writeHead(status, { "content-type": "application/json" });
        outgoing.end(text);
      })
      .catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const PLACES: [kind: KubeRequest["kind"], path: RegExp][] = [
  ["nodes", /^\/api\/v1\/nodes(?:\/([^/]+)(?:\/status)?)?$/],
  ["leases", /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases(?:\/([^/]+))?$/],
  ["events", /^\/api\/v1\/namespaces\/default\/events(?:\/([^/]+))?$/],
];

/** Which machine a request is about: its Node, its lease, or what an event is about and named after. */
export function placeOf(pathAndQuery: string, body: string): Pick<KubeRequest, "kind" | "name" | "path"> {
  const [path = ""] = pathAndQuery.split("?");
  for (const [kind, pattern] of PLACES) {
    const match = pattern.exec(path);
    if (!match) continue;
    const [, name] = match;
    // An event's name is its Node's, a point and a number.
    if (name !== undefined)
      return { kind, path, name: kind === "events" ? name.slice(0, name.lastIndexOf(".")) : name };
    const { metadata, involvedObject } = parsed(body);
    return { kind, path, name: (involvedObject ?? metadata)?.name ?? "" };
  }
  return { kind: "elsewhere", path, name: "" };
}

function parsed(body: string): Record<string, { name?: string } | undefined> {
  return body === "" ? {} : (JSON.parse(body) as Record<string, { name?: string }>);
}
