// Answers the API metrics.k8s.io for the apiserver: NodeMetrics of rollcall's Nodes from their usage, and everything
// else as metrics-server answers it. If one of both sources is down, the other one's part is still answered.
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import type { TLSSocket } from "node:tls";
import { after } from "../../node-shim/base/clock.ts";
import { networkFault } from "../../node-shim/base/network-fault.ts";
import { MACHINE_LABEL } from "../../shared/node/ownership.ts";
import type { UsageAnswer } from "../../shared/protocol/fleet-answers.ts";
import { errorOrNull, failure, type Result, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { type ClusterServer, passedOn, type ServerFault } from "./cluster-server.ts";
import {
  type Form,
  formOf,
  inForm,
  merged,
  type NodeMetadata,
  type NodeMetrics,
  nodeMetrics,
  type NodeMetricsList,
} from "./node-metrics.ts";

export interface AdapterParts {
  apiserver: Pick<ClusterServer, "getJson">;
  metricsServer: Pick<ClusterServer, "get" | "getJson">;
  /** Returns the usage of all machines, typically cached for a few seconds. */
  usage: () => Promise<Result<UsageAnswer>>;
  /** Returns true if the client certificate of the connection is the apiserver's. */
  isFrontProxy: (socket: TLSSocket) => boolean;
  nowMs: () => number;
}

export interface AdapterStatus {
  version: string;
  /** null: the source answers. */
  faults: { worker: string | null; metricsServer: string | null };
}

const GROUP_VERSION = "/apis/metrics.k8s.io/v1beta1";
const ANSWERED = /^\/apis\/metrics\.k8s\.io\/v1beta1\/nodes(?:\/([^/]+))?$/;
/**
 * The paths that are passed on: those of an aggregated API. A segment `..` would let a path mean something else to
 * metrics-server than to the apiserver, which has authorized it.
 */
const PASSED_ON = /^\/(apis|openapi)(\/(?!\.{1,2}(\/|$))[\w.~-]+)*$/;
/** The path at which `rollcall kubectl-top on` sees that the apiserver asks the adapter. */
const STATUS = `${GROUP_VERSION}/rollcall`;
const ALWAYS_OPEN = new Set(["/livez", "/readyz"]);

/** The number of Nodes that the apiserver lists at once. */
const PAGE = "500";

interface NodePage {
  metadata?: { continue?: string };
  /** Go sends an empty list as null. */
  items: { metadata: NodeMetadata }[] | null;
}

export class Adapter {
  readonly #in: AdapterParts;
  readonly #listing = new Map<string, Promise<Result<readonly NodeMetadata[]>>>();

  constructor(parts: AdapterParts) {
    this.#in = parts;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = "", query = ""] = (request.url ?? "").split(/\?(.*)/s);
    if (ALWAYS_OPEN.has(path)) return void response.end("ok");
    if (!this.#in.isFrontProxy(request.socket as TLSSocket))
      return refuse(response, 401, "Unauthorized", "only the cluster's apiserver may ask this server");
    if (request.method !== "GET")
      return refuse(response, 405, "MethodNotAllowed", `${request.method} is not supported`);
    if (!PASSED_ON.test(path)) return refuse(response, 404, "NotFound", "there is nothing at this path");
    if (path === STATUS) return this.#status(response);
    const parameters = new URLSearchParams(query);
    const form = formOf(request.headers.accept, parameters.get("includeObject"));
    const asked = ANSWERED.exec(path);
    // metrics-server has no watch, and refuses it.
    if (asked === null || form === null || parameters.has("watch"))
      return this.#passOn(request, response, path);
    if (asked[1] === undefined) return this.#list(response, parameters, form, path + (query && `?${query}`));
    return this.#one(request, response, asked[1], form);
  }

  async #status(response: ServerResponse): Promise<void> {
    const [usage, discovery] = await Promise.all([
      this.#in.usage(),
      this.#in.metricsServer.getJson(GROUP_VERSION),
    ]);
    const metricsServer = errorOrNull(discovery)?.message ?? null;
    const faults = { worker: errorOrNull(usage), metricsServer };
    send(response, 200, { version: VERSION, faults } satisfies AdapterStatus);
  }

  async #list(
    response: ServerResponse,
    parameters: URLSearchParams,
    form: Form,
    path: string,
  ): Promise<void> {
    const [own, sent] = await Promise.all([
      this.#ownMetrics(parameters.get("labelSelector"), parameters.get("fieldSelector")),
      this.#in.metricsServer.getJson(path),
    ]);
    if (!own.ok && !sent.ok) return refuseWith(response, sent.error, `${sent.error.message}; ${own.error}`);
    if (!own.ok) warn(response, `rollcall's machines are missing: ${own.error}`);
    if (!sent.ok) warn(response, `metrics-server's Nodes are missing: ${sent.error.message}`);
    const { metrics, nodes, isComplete } = own.ok ? own.value : { ...NO_METRICS, nodes: [] };
    if (!isComplete) warn(response, SOME_MISSING);
    const others = sent.ok ? (sent.value as NodeMetricsList) : { items: null };
    send(response, 200, inForm(merged(metrics, nodes, others.items ?? []), form, others));
  }

  async #one(request: IncomingMessage, response: ServerResponse, name: string, form: Form): Promise<void> {
    const nodes = await this.#ourNodes(null, `metadata.name=${name}`);
    // Without the apiserver's answer the Node may be a kubelet's, so that metrics-server answers.
    if (!nodes.ok || nodes.value.length === 0) return this.#passOn(request, response, request.url ?? "");
    const own = await this.#metricsOf(nodes.value);
    if (!own.ok) return refuse(response, 503, "ServiceUnavailable", own.error);
    const { metrics, isComplete } = own.value;
    if (metrics.length === 0 && !isComplete) return refuse(response, 503, "ServiceUnavailable", SOME_MISSING);
    if (metrics.length === 0)
      return refuse(response, 404, "NotFound", `nodemetrics.metrics.k8s.io "${name}" not found`);
    send(response, 200, inForm(metrics, form, "one"));
  }

  async #ownMetrics(
    labelSelector: string | null,
    fieldSelector: string | null,
  ): Promise<Result<OwnMetrics & { nodes: readonly NodeMetadata[] }>> {
    const nodes = await this.#ourNodes(labelSelector, fieldSelector);
    if (!nodes.ok) return nodes;
    if (nodes.value.length === 0) return success({ ...NO_METRICS, nodes: [] });
    const metrics = await this.#metricsOf(nodes.value);
    return metrics.ok ? success({ ...metrics.value, nodes: nodes.value }) : metrics;
  }

  async #metricsOf(nodes: readonly NodeMetadata[]): Promise<Result<OwnMetrics>> {
    const usage = await this.#in.usage();
    if (!usage.ok) return usage;
    const used = new Map(usage.value.machines.map((each) => [each.name, each]));
    const metrics = nodes.flatMap((node) => {
      const found = used.get(node.name);
      return (found && nodeMetrics(node, found, this.#in.nowMs())) ?? [];
    });
    return success({ metrics, isComplete: usage.value.isComplete });
  }

  /**
   * Returns the metadata of our Nodes that match. The apiserver applies the selectors. Clients that ask the same at the
   * same time share one list: thousands of Nodes would else fill the pod's memory.
   */
  #ourNodes(labels: string | null, fields: string | null): Promise<Result<readonly NodeMetadata[]>> {
    const query = new URLSearchParams({
      labelSelector: labels ? `${MACHINE_LABEL},${labels}` : MACHINE_LABEL,
      limit: PAGE,
      ...(fields && { fieldSelector: fields }),
    });
    const key = query.toString();
    const shared = this.#listing.get(key) ?? this.#listNodes(query).finally(() => this.#listing.delete(key));
    this.#listing.set(key, shared);
    return shared;
  }

  /** Lists page by page. The metadata of a Node has several KB, of which only name and labels are kept. */
  async #listNodes(query: URLSearchParams): Promise<Result<readonly NodeMetadata[]>> {
    const nodes: NodeMetadata[] = [];
    for (;;) {
      const listed = await this.#in.apiserver.getJson(
        `/api/v1/nodes?${query.toString()}`,
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      );
      if (!listed.ok) return failure(`the apiserver lists no Nodes: ${listed.error.message}`);
      const { items, metadata } = listed.value as NodePage;
      for (const { metadata: of } of items ?? [])
        nodes.push({ name: of.name, ...(of.labels && { labels: of.labels }) });
      if (!metadata?.continue) return success(nodes);
      query.set("continue", metadata.continue);
    }
  }

  /** Passes the answer of metrics-server on as it comes. */
  async #passOn(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const left = new AbortController();
    response.once("close", () => left.abort());
    const isDiscovery = path === GROUP_VERSION || path === "/apis";
    const cancel = isDiscovery ? after(DISCOVERY_MS, () => left.abort()) : () => {};
    let answered: IncomingMessage;
    try {
      answered = await this.#in.metricsServer.get(request.url ?? "", passedOn(request.headers), left.signal);
    } catch (error) {
      if (path === GROUP_VERSION) return send(response, 200, DISCOVERY);
      // A 404 lets the apiserver ask for DISCOVERY, and a 503 would not.
      const status = path === "/apis" ? 404 : 503;
      return refuse(response, status, "ServiceUnavailable", `metrics-server: ${networkFault(error)}`);
    } finally {
      cancel();
    }
    response.writeHead(answered.statusCode ?? 502, passedOn(answered.headers));
    // An end in the middle also ends the other side. Both have then no more to say.
    pipeline(answered, response, () => undefined);
  }
}

interface OwnMetrics {
  metrics: NodeMetrics[];
  /** false if machines may be missing. */
  isComplete: boolean;
}
const NO_METRICS: OwnMetrics = { metrics: [], isComplete: true };
const SOME_MISSING = "some of rollcall's machines are missing: a gateway of the Worker did not answer";

/** The wait for metrics-server's discovery: after five seconds the apiserver would take the whole API out of service. */
const DISCOVERY_MS = 3000;

/** The resources of metrics-server, which make the API available while metrics-server is not. */
const DISCOVERY = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: "metrics.k8s.io/v1beta1",
  resources: [
    { name: "nodes", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: ["get", "list"] },
    { name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] },
  ],
};

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Adds a warning, which kubectl prints. */
function warn(response: ServerResponse, message: string): void {
  const quoted = JSON.stringify(message.replaceAll(/[^\x20-\x7e]/g, "?"));
  response.appendHeader("warning", `299 - ${quoted}`);
}

function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  const head = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  send(response, code, { ...head, message, reason, code });
}

function refuseWith(response: ServerResponse, { status }: ServerFault, message: string): void {
  if (status === 400) refuse(response, 400, "BadRequest", message);
  else refuse(response, 503, "ServiceUnavailable", message);
}
