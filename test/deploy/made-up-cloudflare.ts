// As much of Cloudflare's API, made up on loopback, as wrangler asks for when it deploys a Worker: versions, deployments,
// secrets, migrations, and what Cloudflare refuses. Runs no Worker: `deployed` says which version would.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface UploadedBinding {
  type: string;
  name: string;
  text?: string;
  json?: unknown;
}

interface Migrations {
  old_tag?: string;
  new_tag: string;
}

interface UploadMetadata {
  bindings: UploadedBinding[];
  annotations?: Record<string, string>;
  migrations?: Migrations;
  keep_bindings?: string[];
}

interface MadeUpVersion {
  id: string;
  number: number;
  bindings: UploadedBinding[];
  annotations: Record<string, string>;
  migrationTag: string | undefined;
}

/** What Cloudflare refuses, as its API says it. */
interface Refusal {
  status: number;
  code: number;
  message: string;
}

interface MadeUpWorker {
  versions: MadeUpVersion[];
  deployed: MadeUpVersion;
  hostnames: string[];
}

export interface MadeUpCloudflare {
  /** For CLOUDFLARE_API_BASE_URL. */
  url: string;
  account: string;
  token: string;
  workers: Map<string, MadeUpWorker>;
  /** The text of a secret or a variable of the version that is deployed. */
  binding: (worker: string, name: string) => string | undefined;
  /** What each upload is refused with; null: none is. */
  refuseUploads: (refusal: Refusal | null) => void;
  /** Paths that nothing is made up for. */
  unknown: string[];
  stop: () => Promise<void>;
}

const NO_SUCH_WORKER = { status: 404, code: 10007, message: "This Worker does not exist on your account." };
const NO_SUCH_PATH = {
  status: 404,
  code: 7003,
  message: "Could not route to this path, perhaps your object identifier is invalid?",
};
const BAD_TOKEN = { status: 403, code: 10000, message: "Authentication error" };
/** https://developers.cloudflare.com/workers/versions-and-deployments/rollbacks/ has the rule; code and words are made up. */
const OVER_MIGRATION = {
  status: 400,
  code: 10999,
  message: "A Durable Object migration has occurred since that version.",
};

/** Thrown by a route. */
class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export async function startMadeUpCloudflare(): Promise<MadeUpCloudflare> {
  const cloudflare = {
    account: "0123456789abcdef0123456789abcdef",
    token: "made-up-api-token",
    workers: new Map<string, MadeUpWorker>(),
    unknown: [] as string[],
  };
  let refusal: Refusal | null = null;
  const server = createServer((incoming, outgoing) => {
    void answer(cloudflare, refusal, incoming).then(
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
    ...cloudflare,
    url: `http://127.0.0.1:${port}/client/v4`,
    binding: (worker, name) =>
      cloudflare.workers.get(worker)?.deployed.bindings.find((each) => each.name === name)?.text,
    refuseUploads: (next) => (refusal = next),
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

type Place = Pick<MadeUpCloudflare, "account" | "token" | "workers" | "unknown">;

async function answer(place: Place, refusal: Refusal | null, incoming: IncomingMessage): Promise<unknown> {
  const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
  if (incoming.headers.authorization !== `Bearer ${place.token}`) throw new Refused(BAD_TOKEN);
  const { pathname } = new URL(incoming.url ?? "", "http://made.up");
  // What a Worker with static files of the old kind had: none.
  if (pathname === `/client/v4/accounts/${place.account}/storage/kv/namespaces`) return [];
  const [, account, rest = ""] = /^\/client\/v4\/accounts\/([^/]+)\/workers\/(.+)$/.exec(pathname) ?? [];
  if (account !== place.account) throw new Refused(NO_SUCH_PATH);
  const request = `${incoming.method} ${rest}`;
  const [, kind = "", name = "", below = ""] = /^(services|scripts|workers)\/([^/]+)(.*)$/.exec(rest) ?? [];
  const worker = place.workers.get(name);
  const isUpload = /^(PUT scripts\/[^/]+|POST scripts\/[^/]+\/versions)$/.test(request);
  if (isUpload && refusal !== null) throw new Refused(refusal);
  const asked = { method: incoming.method ?? "", kind, name, below, worker };
  // Who else uses the Worker, as wrangler asks before it deletes one: nobody.
  if (request.startsWith("GET tails/by-consumer/")) return [];
  if (worker && request === `DELETE services/${name}`) return place.workers.delete(name);
  const found =
    isUpload || request.startsWith("POST scripts")
      ? await posted(place, asked, body, incoming.headers["content-type"] ?? "")
      : read(asked, body);
  if (found !== undefined) return found;
  place.unknown.push(request);
  throw new Refused(NO_SUCH_PATH);
}

interface Asked {
  method: string;
  kind: string;
  name: string;
  /** Behind the Worker's name. */
  below: string;
  worker: MadeUpWorker | undefined;
}

/** What changes no version. undefined: nothing is made up for it. */
function read({ method, kind, name, below, worker }: Asked, body: Buffer): unknown {
  if (!worker) throw new Refused(NO_SUCH_WORKER);
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
  { workers }: Place,
  { method, name, below, worker }: Asked,
  body: Buffer,
  contentType: string,
): Promise<unknown> {
  if (below === "/assets-upload-session") return { jwt: "all-are-there", buckets: [] };
  if (below === "/subdomain") return { enabled: false, previews_enabled: false };
  if (below === "/domains/changeset") return { added: [], removed: [], updated: [], conflicting: [] };
  if (below === "/deployments" && worker) return deployAgain(worker, body);
  if (below !== "" && below !== "/versions") return undefined;
  const metadata = await metadataOf(body, contentType);
  const before = worker?.versions.at(-1);
  const version = {
    id: randomUUID(),
    number: (before?.number ?? 0) + 1,
    bindings: bindingsOf(metadata, worker?.deployed),
    annotations: metadata.annotations ?? {},
    migrationTag: metadata.migrations?.new_tag ?? before?.migrationTag,
  };
  if (worker) worker.versions.push(version);
  else workers.set(name, { versions: [version], deployed: version, hostnames: [] });
  if (method === "PUT" && worker) worker.deployed = version;
  return method === "PUT"
    ? { id: name, deployment_id: version.id.replaceAll("-", ""), etag: "e" }
    : versionDetail(version);
}

function deployAgain(worker: MadeUpWorker, body: Buffer): unknown {
  const { versions } = JSON.parse(body.toString()) as { versions: { version_id: string }[] };
  const next = worker.versions.find(({ id }) => id === versions[0]?.version_id);
  if (!next) throw new Refused(NO_SUCH_PATH);
  if (next.migrationTag !== worker.deployed.migrationTag) throw new Refused(OVER_MIGRATION);
  worker.deployed = next;
  return { id: randomUUID() };
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

/** What is inherited is of the version that is deployed, and so are secrets that are not named. */
function bindingsOf(
  { bindings, keep_bindings: kept = [] }: UploadMetadata,
  before: MadeUpVersion | undefined,
): UploadedBinding[] {
  const had = before?.bindings ?? [];
  const named = new Set(bindings.map(({ name }) => name));
  const own = bindings.map((binding) => {
    if (binding.type !== "inherit") return binding;
    const found = had.find(({ name }) => name === binding.name);
    const message = `inherit binding '${binding.name}' is invalid: it does not exist on the previous version`;
    if (!found) throw new Refused({ status: 400, code: 10057, message });
    return found;
  });
  return [...own, ...had.filter(({ name, type }) => kept.includes(type) && !named.has(name))];
}

const deploymentOf = ({ id }: MadeUpVersion) => ({
  id,
  source: "wrangler",
  strategy: "percentage",
  author_email: "somebody@example.com",
  created_on: "2026-01-01T00:00:00Z",
  annotations: {},
  versions: [{ version_id: id, percentage: 100 }],
});

/** Secrets come without their text. */
const versionDetail = ({ id, number, bindings, annotations, migrationTag }: MadeUpVersion) => ({
  id,
  number,
  metadata: { created_on: "2026-01-01T00:00:00Z", modified_on: "2026-01-01T00:00:00Z", source: "wrangler" },
  annotations,
  resources: {
    bindings: bindings.map((binding) =>
      binding.type === "secret_text" ? { type: binding.type, name: binding.name } : binding,
    ),
    script: { etag: "e", handlers: ["fetch"] },
    script_runtime: {
      compatibility_date: "2026-10-30",
      usage_model: "standard",
      migration_tag: migrationTag,
    },
  },
  startup_time_ms: 10,
});
