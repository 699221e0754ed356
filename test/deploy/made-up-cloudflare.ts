// Plays on loopback the part of Cloudflare's API that wrangler needs to deploy a Worker: versions, deployments,
// secrets, migrations, and refusals. No Worker runs: `deployed` names the version that would run.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  checkCaller,
  deployAgain,
  deploymentOf,
  type MadeUpAccount,
  madeUpAccount,
  type MadeUpWorker,
  noSuchPath,
  Refused,
  upload,
  type UploadedBinding,
  versionDetail,
  workerOf,
} from "../infra/deploy/made-up-account.ts";

interface UploadMetadata {
  bindings: UploadedBinding[];
  annotations?: Record<string, string>;
  migrations?: { old_tag?: string; new_tag: string };
  keep_bindings?: string[];
}

export interface MadeUpCloudflare {
  /** The URL of the made-up API, for wrangler's variable CLOUDFLARE_API_BASE_URL. */
  url: string;
  /** The made-up account, as the requests until now have changed it. */
  place: MadeUpAccount;
  /** The requests to which this server had no made-up answer. */
  unknown: string[];
  stop: () => Promise<void>;
}

export async function startMadeUpCloudflare(): Promise<MadeUpCloudflare> {
  const place = madeUpAccount();
  const unknown: string[] = [];
  const server = createServer((incoming, outgoing) => {
    void answer(place, unknown, incoming).then(
      (result) => send(outgoing, 200, { success: true, errors: [], messages: [], result }),
      (error: unknown) => {
        const { status, code, message } =
          error instanceof Refused ? error.refusal : { status: 500, code: 1, message: String(error) };
        send(outgoing, status, { success: false, errors: [{ code, message }], messages: [], result: null });
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/client/v4`,
    place,
    unknown,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function answer(place: MadeUpAccount, unknown: string[], incoming: IncomingMessage): Promise<unknown> {
  const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
  const { pathname } = new URL(incoming.url ?? "", "http://made.up");
  const [, account, rest = ""] = /^\/client\/v4\/accounts\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
  checkCaller(place, account, incoming.headers.authorization?.replace("Bearer ", "") ?? "");
  // wrangler looks for static files in a KV namespace, where earlier versions of wrangler stored them: the Worker
  // has none.
  if (rest === "storage/kv/namespaces") return [];
  const request = `${incoming.method} ${rest}`;
  const [, kind = "", name = "", below = ""] =
    /^workers\/(services|scripts|workers)\/([^/]+)(.*)$/.exec(rest) ?? [];
  const worker = place.workers.get(name);
  const asked = { method: incoming.method ?? "", kind, name, below };
  // Before wrangler deletes a Worker, it asks which other Workers send their logs to that Worker: the answer is
  // none.
  if (request.startsWith("GET workers/tails/by-consumer/")) return [];
  if (worker && request === `DELETE workers/services/${name}`) return place.workers.delete(name);
  const isPosted =
    request === `PUT workers/scripts/${name}` || request.startsWith(`POST workers/scripts/${name}`);
  const found = isPosted
    ? await posted(place, asked, body, incoming.headers["content-type"] ?? "")
    : read(workerOf(place, name), asked, body);
  if (found !== undefined) return found;
  unknown.push(request);
  throw noSuchPath();
}

interface Asked {
  method: string;
  kind: string;
  name: string;
  /** The part of the request's path after the Worker's name. */
  below: string;
}

/** Answers a request that changes no version. Returns undefined if no made-up answer exists for the request. */
function read(worker: MadeUpWorker, { method, kind, name, below }: Asked, body: Buffer): unknown {
  const { deployed, versions } = worker;
  const request = `${method} ${kind}${below}`;
  if (request === "GET services") {
    const script = {
      tag: name,
      tags: [],
      last_deployed_from: "wrangler",
      migration_tag: deployed.migrationTag,
    };
    return { default_environment: { environment: "production", script } };
  }
  if (request === "GET scripts/references") return {};
  if (request === "GET workers")
    return { id: name, name, subdomain: { enabled: false, previews_enabled: false } };
  if (request === "GET scripts/secrets")
    return deployed.bindings
      .filter(({ type }) => type === "secret_text")
      .map(({ type, name: secret }) => ({ type, name: secret }));
  if (request === "GET scripts/deployments") return { deployments: [deploymentOf(deployed)] };
  const version = versions.find(({ id }) => request === `GET scripts/versions/${id}`);
  if (version) return versionDetail(version);
  if (request === "PATCH scripts/script-settings" || request === "PUT scripts/schedules") return {};
  if (request !== "PUT scripts/domains/records") return undefined;
  const { origins } = JSON.parse(body.toString()) as { origins: { hostname: string }[] };
  worker.hostnames = origins.map(({ hostname }) => hostname);
  return {};
}

async function posted(
  place: MadeUpAccount,
  { method, name, below }: Asked,
  body: Buffer,
  contentType: string,
): Promise<unknown> {
  if (below === "/assets-upload-session") return { jwt: "all-are-there", buckets: [] };
  if (below === "/subdomain") return { enabled: false, previews_enabled: false };
  if (below === "/domains/changeset") return { added: [], removed: [], updated: [], conflicting: [] };
  if (below === "/deployments") {
    const { versions } = JSON.parse(body.toString()) as { versions: { version_id: string }[] };
    deployAgain(workerOf(place, name), versions[0]?.version_id);
    return { id: versions[0]?.version_id };
  }
  if (below !== "" && below !== "/versions") return undefined;
  const { bindings, annotations = {}, migrations, keep_bindings } = await metadataOf(body, contentType);
  const uploaded = { bindings, annotations, migrationTag: migrations?.new_tag, kept: keep_bindings ?? [] };
  const version = upload(place, name, uploaded, method === "PUT");
  return method === "PUT"
    ? { id: name, deployment_id: version.id.replaceAll("-", ""), etag: "e" }
    : versionDetail(version);
}

async function metadataOf(body: Buffer, contentType: string): Promise<UploadMetadata> {
  const form = await new Response(new Uint8Array(body), {
    headers: { "content-type": contentType },
  }).formData();
  const metadata = form.get("metadata");
  return JSON.parse(
    typeof metadata === "string" ? metadata : await (metadata as Blob).text(),
  ) as UploadMetadata;
}
