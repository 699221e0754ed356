// Opens a proxy for the Worker's requests to the apiserver. The proxy records the number of requests, their
// machines, and the resulting Nodes. Changes nothing.
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { type JsonPort, openJsonPort } from "../../bench/json-port.ts";
import type { Cluster } from "./cluster.ts";
import type { KubeRequest } from "./traffic.ts";

export interface KubeDoor extends JsonPort {
  requests: KubeRequest[];
}

/** Opens the proxy. `onNode` gets each Node after a write of the Worker. */
export async function openKubeDoor(
  { fetch, url }: Pick<Cluster, "fetch" | "url">,
  onNode: (node: Node) => void,
): Promise<KubeDoor> {
  const requests: KubeRequest[] = [];

  const port = await openJsonPort(async ({ method, path, headers: sent, body }) => {
    const asked: KubeRequest = { atMs: performance.now(), method, ...placeOf(path, body), keptBytes: 0 };
    requests.push(asked);
    const headers = Object.fromEntries(
      ["accept", "authorization", "content-type", "user-agent"].map((name) => [
        name,
        String(sent[name] ?? ""),
      ]),
    );
    const response = await fetch(new Request(url + path, { method, headers, ...(body !== "" && { body }) }));
    // A watch does not end, so its body is passed on as a stream.
    if (path.includes("watch=1") && response.body) return { status: response.status, text: response.body };
    const text = await response.text();
    if (response.ok && ["POST", "PUT", "PATCH"].includes(method)) {
      asked.keptBytes = Buffer.byteLength(text);
      if (asked.kind === "nodes") onNode(JSON.parse(text) as Node);
    }
    return { status: response.status, text };
  });
  return { ...port, requests };
}

const PLACES: [kind: KubeRequest["kind"], path: RegExp][] = [
  ["nodes", /^\/api\/v1\/nodes(?:\/([^/]+)(?:\/status)?)?$/],
  ["leases", /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases(?:\/([^/]+))?$/],
  ["events", /^\/api\/v1\/namespaces\/default\/events(?:\/([^/]+))?$/],
];

/** Returns the machine of a request: by its Node, its lease, or an event about it. */
export function placeOf(pathAndQuery: string, body: string): Pick<KubeRequest, "kind" | "name" | "path"> {
  const [path = ""] = pathAndQuery.split("?");
  for (const [kind, pattern] of PLACES) {
    const match = pattern.exec(path);
    if (!match) continue;
    const [, name] = match;
    // The name of an event is the name of its Node, a dot and a number.
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
