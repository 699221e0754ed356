// Publishes the machine's features as a NodeFeature object, by which nfd-master labels its Node. Writes only what has
// changed, and removes the object once the machine may not have it. Failures delay neither the lease nor the status.
import { type ApiError, isConflict, isForbidden, isNotFound } from "../../shared/kubernetes/api-error.ts";
import {
  nodeFeature,
  type PublishedFeatures,
  publishedFeatures,
} from "../../shared/from-report/node-feature.ts";
import { OWNER_ANNOTATION } from "../../shared/node/ownership.ts";
import type { Features } from "../../shared/protocol/features.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";
import { sha256Base64url } from "../identity/jwt.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isWithoutPath } from "../kube/not-the-apiserver.ts";
import type { MachineLog } from "../log.ts";
import type { Stored } from "../storage/journal.ts";
import type { PublishedObject } from "../storage/records.ts";
import { RATE_LIMITS, take, type TokenBucket, tokensAt } from "../storage/token-bucket.ts";
import { TURN_GOOD_MS, type TurningMachine } from "./node-turn.ts";
import { registeredUid } from "./own-node.ts";
import { recordLeftOut } from "./parts.ts";

export interface PublishingMachine extends Stored, Pick<TurningMachine, "nowMs" | "random" | "nodeTurn"> {
  name: string;
  deployment: string;
  /** Typically nodeFeatureNamespace; null if the machine must have no object. */
  namespace: string | null;
  grant: Grant;
  /** Returns a client whose requests count in the machine's budget. */
  client: () => Pick<KubeClient, "applyNodeFeature" | "deleteNodeFeature" | "getNodeFeature">;
  log: MachineLog;
}

/** The wait after a failed attempt: the first, and the longest. */
export const AGAIN_MS = { least: 60_000, most: 1_800_000 } as const;

/** The data that decides whether there is an object, and its content. Each absent value means that there is none. */
interface Wanted {
  published: PublishedFeatures | null;
  namespace: string | null;
  /** The Node's uid; undefined without a registered Node. */
  uid: string | undefined;
  /** The process of the shim for which the object is written. */
  startId: string | undefined;
}

interface Content {
  spec: NonNullable<PublishedFeatures["spec"]>;
  namespace: string;
  uid: string;
  startId: string;
}

/** The features of one machine. Keeps what it made of the last features, so that a steady report costs a comparison. */
export class NodeFeaturePublisher {
  readonly #machine: PublishingMachine;
  #known: { features: Features; grant: Grant; published: PublishedFeatures } | undefined;
  #steady: Wanted | undefined;

  constructor(machine: PublishingMachine) {
    this.#machine = machine;
  }

  /** Returns true if `publish` has work now. */
  isDue(): boolean {
    const { records, nowMs } = this.#machine;
    const known = records.get("nodeFeature");
    const published = this.#published();
    if (!published && !known && !records.get("leftOut")?.features) return false;
    const waitMs = (known?.againAtMs ?? 0) - nowMs();
    // A clock that was put back does not extend the wait. A removal waits only for the apiserver.
    const isHeld = waitMs > 0 && waitMs <= AGAIN_MS.most;
    if (isHeld && (published || known?.fault?.failures)) return false;
    const wanted = this.#wanted();
    const isOfProcess = known?.object === undefined || known.object.startId === wanted.startId;
    return known?.fault !== undefined || !isOfProcess || !isSame(wanted, this.#steady);
  }

  /** Writes or removes the object if that is due. Make one call at a time. */
  async publish(): Promise<void> {
    if (!this.isDue()) return;
    const wanted = this.#wanted();
    const { published, namespace, uid, startId } = wanted;
    const { notAllowed = [], noRoom = [] } = published ?? {};
    recordLeftOut(
      this.#machine,
      "features",
      [...notAllowed, ...noRoom].map((name) => `feature ${name}`),
    );
    const spec = published?.spec;
    const hasObject = spec && namespace !== null && uid !== undefined && startId !== undefined;
    const { object, fault } = this.#machine.records.get("nodeFeature") ?? {};
    const isElsewhere = object !== undefined && !(hasObject && object.namespace === namespace);
    if (isElsewhere && !(await this.#remove(object))) return;
    if (!hasObject && fault) this.#forget();
    if (!hasObject || (await this.#write({ spec, namespace, uid, startId }))) this.#steady = wanted;
  }

  /** Returns false if the object may be left. */
  async #remove(object: NonNullable<PublishedObject["object"]>): Promise<boolean> {
    const { records, journal, nowMs } = this.#machine;
    const error = await this.#delete(object.namespace, object.uid);
    if (error) {
      this.#fail(records.get("nodeFeature") ?? {}, error, object.namespace);
      return false;
    }
    this.#forget();
    journal.note("registration", `NodeFeature removed from ${object.namespace}`, nowMs());
    return true;
  }

  /** Deletes the object unless it is another writer's. Returns the error if the object may be left; else null. */
  async #delete(namespace: string, uid: string): Promise<ApiError | null> {
    const { client, name, deployment } = this.#machine;
    const deleted = uid === "" ? null : await client().deleteNodeFeature(namespace, name, uid);
    if (deleted && (deleted.ok || isGone(deleted.error))) return null;
    if (deleted && !isForbidden(deleted.error)) return deleted.error;
    // The policy keeps an object that nfd-worker has taken over: such an update changes the annotations, not the uid.
    const found = await client().getNodeFeature(namespace, name);
    if (!found.ok) return isGone(found.error) ? null : found.error;
    const { annotations, uid: itsUid = "" } = found.value.metadata;
    if (annotations?.[OWNER_ANNOTATION] !== deployment || itsUid === "") return null;
    return deleted ? deleted.error : this.#delete(namespace, itsUid);
  }

  /** Forgets the object, but not how often it was written. */
  #forget(): void {
    const { records } = this.#machine;
    const { bucket } = records.get("nodeFeature") ?? {};
    if (bucket) records.put("nodeFeature", { bucket });
    else records.remove("nodeFeature");
  }

  #published(): PublishedFeatures | null {
    const { records, namespace, name, grant } = this.#machine;
    if (namespace === null) return null;
    const { features } = records.get("facts")?.facts ?? {};
    if (!features) return null;
    if (this.#known?.features !== features || this.#known.grant !== grant)
      this.#known = { features, grant, published: publishedFeatures(features, name, grant) };
    return this.#known.published;
  }

  #wanted(): Wanted {
    const { records, namespace } = this.#machine;
    const { phase, startId } = records.get("registration") ?? {};
    const isRegistered = phase === "registered";
    return {
      published: this.#published(),
      namespace,
      uid: isRegistered ? registeredUid(records) : undefined,
      startId,
    };
  }

  /** Returns true if the object has this content. */
  async #write({ spec, namespace, uid, startId }: Content): Promise<boolean> {
    const { records, name, deployment, journal, client, nowMs } = this.#machine;
    const object = nodeFeature({ name, uid, namespace, deployment }, spec);
    const encoded = new TextEncoder().encode(JSON.stringify(object));
    const digest = await sha256Base64url(encoded);
    const before = records.get("nodeFeature") ?? {};
    // For a new process of the shim the object is written again, since another writer may have removed it.
    // After a failed write, the object may have other content.
    const isWritten = before.object?.digest === digest && before.object.startId === startId;
    if (isWritten && !before.fault) return true;
    const bytes = encoded.length;
    const bucket = await this.#mayWrite(before, bytes);
    if (!bucket) return false;
    records.put("nodeFeature", { ...before, bucket });
    const applied = await client().applyNodeFeature(object);
    if (!applied.ok) {
      const { error } = applied;
      const mayExist = error.kind === "unanswered" && !error.isUnsent && !isWithoutPath(error);
      const sent = mayExist && { object: { namespace, uid: "", digest: "", bytes: 0, startId: "" } };
      this.#fail({ ...sent, ...before, bucket }, error, namespace);
      return false;
    }
    const written = { namespace, uid: applied.value.metadata.uid ?? "", digest, bytes, startId };
    records.put("nodeFeature", { object: written, bucket });
    if (!before.object || before.fault)
      journal.note("registration", `NodeFeature written into ${namespace}`, nowMs());
    return true;
  }

  /** Returns the bucket after a write of these bytes; null if the write must wait. */
  async #mayWrite(known: PublishedObject, bytes: number): Promise<TokenBucket | null> {
    const nowMs = this.#machine.nowMs();
    const left = tokensAt(known.bucket, RATE_LIMITS.nodeFeatures, nowMs);
    if (left < 1) {
      const inMs = Math.ceil((1 - left) * RATE_LIMITS.nodeFeatures.everyMs);
      return this.#wait(known, "they change too often", inMs);
    }
    const more = bytes - (known.object?.bytes ?? 0);
    const sinceMs = nowMs - (known.turn?.atMs ?? -Infinity);
    const hasTurn =
      known.turn !== undefined && known.turn.bytes >= more && sinceMs >= 0 && sinceMs <= TURN_GOOD_MS;
    if (more > 0 && !hasTurn) {
      const turn = await this.#machine.nodeTurn({ nodes: 0, bytes: more });
      if (!turn) return this.#wait(known, "the fleet index does not answer", AGAIN_MS.least);
      const { waitMs, isGranted, limit } = turn;
      const assigned = isGranted ? { ...known, turn: { bytes: more, atMs: nowMs + waitMs } } : known;
      if (waitMs > 0) return this.#wait(assigned, `the limit of ${limit} is reached`, waitMs);
    }
    return take(known.bucket, RATE_LIMITS.nodeFeatures, nowMs).bucket;
  }

  #fail(known: PublishedObject, error: ApiError, namespace: string): void {
    const { log, random, name } = this.#machine;
    log("NodeFeature not written", error);
    const failures = (known.fault?.failures ?? 0) + 1;
    const waitMs = Math.min(AGAIN_MS.most, AGAIN_MS.least * 2 ** (failures - 1)) * (1 - 0.25 * random());
    this.#wait(known, faultText(error, `${namespace}/${name}`), waitMs, failures);
  }

  /** Records why nothing is written until then. Returns null. */
  #wait(known: PublishedObject, text: string, waitMs: number, failures = 0): null {
    const { records, journal, nowMs } = this.#machine;
    const { fault } = records.get("nodeFeature") ?? {};
    records.put("nodeFeature", {
      ...known,
      fault: { text, failures },
      againAtMs: Math.ceil(nowMs() + waitMs),
    });
    if (fault?.text !== text)
      journal.note("registration", `its features are not published: ${text}`, nowMs());
    return null;
  }
}

/** Returns a message for the machine's operator; undefined if no write of the object has failed. */
export function nodeFeatureMessage(records: Stored["records"]): string | undefined {
  const { fault } = records.get("nodeFeature") ?? {};
  return fault && `its features are not published: ${fault.text}`;
}

/** Makes the next report write the object at once, even if it has not changed. */
export function publishAgain(records: Stored["records"]): void {
  const { object, againAtMs: _, ...known } = records.get("nodeFeature") ?? {};
  if (object) records.put("nodeFeature", { ...known, object: { ...object, startId: "" } });
  else if (known.fault) records.put("nodeFeature", known);
}

function isSame(one: Wanted, other: Wanted | undefined): boolean {
  return (
    one.published === other?.published &&
    one.namespace === other.namespace &&
    one.uid === other.uid &&
    one.startId === other.startId
  );
}

/** Returns true if the object cannot be left: without its definition there is none, and another uid is another writer's. */
function isGone(error: ApiError): boolean {
  return isNotFound(error) || isConflict(error) || isWithoutPath(error);
}

function faultText(error: ApiError, object: string): string {
  if (isWithoutPath(error))
    return "the cluster has no NodeFeature objects: node-feature-discovery is not installed, or a proxy blocks their path";
  if (isNotFound(error)) return `the namespace of ${object} does not exist`;
  if (isConflict(error)) return `another writer has set NodeFeature ${object}`;
  if (isForbidden(error)) return `the cluster refuses NodeFeature ${object}: the Worker's log says why`;
  if (error.kind === "status") return `the apiserver refuses NodeFeature ${object}`;
  return error.isUnsent
    ? "the machine has used up its requests to the apiserver"
    : "the apiserver does not answer";
}
