// Makes a kube-apiserver for development and tests: one function from Request to Response.
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { failure, success } from "../../../shared/result.ts";
import { createAuthenticator } from "./access/authentication.ts";
import { createTokenSigner } from "./access/service-account-tokens.ts";
import {
  createAuthorizer,
  decodedPath,
  refuseForbidden,
  refuseImpersonation,
} from "./access/authorization.ts";
import { answerBody, answerNothing, answerStatus, negotiate, type Representation } from "./answers/answer.ts";
import { showList, showObject } from "./answers/table.ts";
import type { AccessControl, Answer, Call } from "./call.ts";
import { answerNonResource } from "./discovery.ts";
import { eventsGroup, withCoreNames, withoutCoreNames } from "./kinds/event-versions.ts";
import type { ApiObject, Outcome } from "./object.ts";
import { get, list, type ObjectList } from "./read/list.ts";
import { watchObjects } from "./read/watch.ts";
import { parseRequestInfo, type RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import { findResourceType, resourceTypes } from "./resources.ts";
import * as refuse from "./status.ts";
import { qualifiedResource } from "./status.ts";
import type { Change, ObjectKey, Store } from "./store.ts";
import { createDefaults } from "./write/bootstrap.ts";
import { remove, removeCollection } from "./write/delete.ts";
import * as writes from "./write/write-handlers.ts";
import { inFieldOrder, type Surroundings } from "./write/write.ts";

interface ApiserverOptions extends Surroundings {
  /** The bearer token of a member of system:masters. */
  adminToken: string;
  /** The private key on P-256 that signs the tokens of service accounts. By default each start makes a new key. */
  signingKey?: KeyObject;
}

interface Apiserver {
  fetch: (request: Request) => Promise<Response>;
}

/** Returns the verbs of a type, or of one of its subresources. undefined if the type has no such subresource. */
function verbsOf(type: ResourceType, subresource: string): string[] | undefined {
  if (subresource === "") return type.verbs;
  return type.subresources?.find(({ name }) => name === subresource)?.verbs;
}

/** Returns true if the verb fits the path. A path for `create` has a name only together with a subresource. */
function hasRoute({ verb, name, subresource }: RequestInfo): boolean {
  if (verb === "list" || verb === "watch" || verb === "deletecollection") return true;
  return verb === "create" ? (name === "") === (subresource === "") : name !== "";
}

type Handler = (world: Surroundings, call: Call) => Outcome<Answer> | Promise<Outcome<Answer>>;

/** The handler of each verb but watch, whose answer is a stream. */
const handlers: Readonly<Record<string, Handler>> = {
  get,
  list,
  create: writes.create,
  update: writes.update,
  patch: writes.patch,
  delete: remove,
  deletecollection: removeCollection,
};

/** Returns a list or an object of the type as the client wants it, and a Status or another kind unchanged. */
function show(type: ResourceType, body: object, shown: Representation, now: Date): object {
  if ("items" in body) return showList(type, body as ObjectList, shown, now);
  return "kind" in body && body.kind === type.kind ? showObject(type, body as ApiObject, shown, now) : body;
}

function answerWatch(world: Surroundings, call: Call, shown: Representation): Response {
  const watched = watchObjects(world, call.type, call.info, call.query, shown);
  if (!watched.ok) return answerStatus(watched.error);
  return new Response(watched.value, { headers: { "content-type": "application/json" } });
}

/** Finds the type that a request is for. Returns an error if the type, its verb or the HTTP method is not served. */
function routeOf(request: Request, info: RequestInfo): Outcome<ResourceType> {
  const type = findResourceType(info);
  const verbs = type && verbsOf(type, info.subresource);
  if (!type || !verbs) return failure(refuse.unknownResource());
  const hasMethod = verbs.includes(info.verb) && hasRoute(info) && request.method !== "HEAD";
  return hasMethod ? success(type) : failure(refuse.methodNotAllowed());
}

async function answerResource(
  world: Surroundings,
  control: AccessControl,
  request: Request,
  url: URL,
  info: RequestInfo,
): Promise<Response> {
  if (!resourceTypes.some(({ group }) => group === info.group)) return answerNothing();
  const type = routeOf(request, info);
  if (!type.ok) return answerStatus(type.error);
  const query = url.searchParams;
  const shown = negotiate(request.headers.get("accept"), query);
  if (!shown.ok) return answerStatus(shown.error);
  const call: Call = { request, query, info, type: type.value, control };
  if (info.verb === "watch") return answerWatch(world, call, shown.value);
  const handler = handlers[info.verb];
  if (!handler) return answerStatus(refuse.methodNotAllowed());
  const answer = await handler(world, call);
  if (!answer.ok) return answerStatus(answer.error);
  const { code, body } = answer.value;
  return answerBody(code, show(type.value, body, shown.value, world.now()));
}

/** Makes an apiserver and a new cluster's objects. Each request is atomic, and stored before the answer. */
export function createApiserver(options: ApiserverOptions): Apiserver {
  const store = withEventGroups(options.store);
  const world = { ...options, store };
  const { signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey } = options;
  const signer = createTokenSigner(signingKey);
  const userOf = createAuthenticator(options.store, options.now, options.adminToken, signer);
  const decide = createAuthorizer(store);
  const control: AccessControl = { signer, decide };
  createDefaults(world);

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const user = userOf(request.headers.get("authorization"));
    if (!user) return answerStatus(refuse.unauthorized());
    const info = parseRequestInfo(request.method, url);
    const attributes = info ?? { verb: request.method.toLowerCase(), path: decodedPath(url) };
    const refused = refuseImpersonation(request.headers) ?? refuseForbidden(decide, user, attributes);
    if (refused) return answerStatus(refused);
    return info ? await answerResource(world, control, request, url, info) : answerNonResource(request, url);
  }

  return {
    fetch: async (request) => {
      try {
        return await answer(request);
      } catch (error) {
        return answerStatus(refuse.internalError(error instanceof Error ? error.message : String(error)));
      }
    },
  };
}

const coreType = findResourceType({ group: "", version: "v1", resource: "events" })!;
const groupType = findResourceType({ group: eventsGroup, version: "v1", resource: "events" })!;
const coreResource = qualifiedResource(coreType);
const groupResource = qualifiedResource(groupType);

function toCore(event: ApiObject): ApiObject {
  return inFieldOrder(coreType, withCoreNames(event));
}

function fromCore(event: ApiObject): ApiObject {
  return inFieldOrder(groupType, withoutCoreNames(event));
}

function changeFromCore(change: Change): Change {
  const object = fromCore(change.object);
  const previous = change.previous && { previous: fromCore(change.previous) };
  return { ...change, ...previous, resource: groupResource, object, text: JSON.stringify(object) };
}

function withEventGroups(store: Store): Store {
  const isOfGroup = (resource: string | undefined) => resource === groupResource;
  const coreKey = (key: ObjectKey) => ({ ...key, resource: coreResource });
  return {
    ...store,
    get: (key) => {
      if (!isOfGroup(key.resource)) return store.get(key);
      const found = store.get(coreKey(key));
      return found && fromCore(found);
    },
    list: (resource, namespace) =>
      isOfGroup(resource)
        ? store.list(coreResource, namespace).map(fromCore)
        : store.list(resource, namespace),
    put: (key, object) =>
      isOfGroup(key.resource) ? fromCore(store.put(coreKey(key), toCore(object))) : store.put(key, object),
    remove: (key, last) =>
      isOfGroup(key.resource) ? fromCore(store.remove(coreKey(key), toCore(last))) : store.remove(key, last),
    changesSince: (resource, revision) => {
      if (!isOfGroup(resource)) return store.changesSince(resource, revision);
      const changes = store.changesSince(coreResource, revision);
      return changes === "gone" ? changes : changes.map(changeFromCore);
    },
    subscribe: (listener, resource) =>
      isOfGroup(resource)
        ? store.subscribe((change) => listener(changeFromCore(change)), coreResource)
        : store.subscribe(listener, resource),
  };
}
