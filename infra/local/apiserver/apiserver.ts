// A kube-apiserver for development and tests as one function: Request → Response. Opens no port and no file.
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createAuthenticator } from "./access/authentication.ts";
import { authorize, decodedPath, refuseForbidden, refuseImpersonation } from "./access/authorization.ts";
import { answerBody, answerNothing, answerStatus } from "./answers/answer.ts";
import { createDefaults } from "./write/bootstrap.ts";
import type { AccessControl, Answer, Call } from "./call.ts";
import { remove, removeCollection } from "./write/delete-handlers.ts";

import { get, list, type ObjectList } from "./read/list.ts";
import { negotiate, type Representation } from "./answers/negotiation.ts";
import { answerNonResource } from "./discovery/non-resource.ts";
import { withEventGroups } from "./event-store.ts";
import type { ApiObject, Outcome } from "./object.ts";
import { parseRequestInfo, type RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import { findResourceType, resourceTypes } from "./resources.ts";
import { createRuleResolver } from "./access/rule-resolver.ts";
import { failure, success } from "../../../shared/result.ts";
import * as refuse from "./status.ts";
import { showList, showObject } from "./answers/table.ts";
import { watchObjects } from "./read/watch.ts";
import * as writes from "./write/write-handlers.ts";
import type { Surroundings } from "./write/write.ts";

export interface ApiserverOptions extends Surroundings {
  /** The bearer token of a member of system:masters. */
  adminToken: string;
  /** Signs the tokens of service accounts: a private key on P-256. Without it, one is made that is not kept. */
  signingKey?: KeyObject;
}

export interface Apiserver {
  fetch: (request: Request) => Promise<Response>;
}

/** The type's verbs, or those of the subresource; undefined when there is no such subresource. */
function verbsOf(type: ResourceType, subresource: string): string[] | undefined {
  if (subresource === "") return type.verbs;
  return type.subresources?.find(({ name }) => name === subresource)?.verbs;
}

/** A new object has no name in its path, all else but lists has; a subresource may take an object of its own. */
function hasRoute({ verb, name, subresource }: RequestInfo): boolean {
  if (verb === "list" || verb === "watch" || verb === "deletecollection") return true;
  return verb === "create" ? (name === "") === (subresource === "") : name !== "";
}

/** The handler of a verb for a path that has it. */
async function dispatch(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  switch (call.info.verb) {
    case "get":
      return get(world, call);
    case "list":
      return list(world, call);
    case "create":
      return await writes.create(world, call);
    case "update":
      return await writes.update(world, call);
    case "patch":
      return await writes.patch(world, call);
    case "delete":
      return await remove(world, call);
    case "deletecollection":
      return await removeCollection(world, call);
    default:
      return failure(refuse.methodNotAllowed());
  }
}

function isList(body: object): body is ObjectList {
  return "items" in body && Array.isArray(body.items);
}

/** Not so are a Status and what a subresource of its own answers. */
function isObjectOf(type: ResourceType, body: object): body is ApiObject {
  return "kind" in body && body.kind === type.kind;
}

function show(type: ResourceType, body: object, shown: Representation, now: Date): object {
  if (isList(body)) return showList(type, body, shown, now);
  return isObjectOf(type, body) ? showObject(type, body, shown, now) : body;
}

function answerWatch(world: Surroundings, call: Call, shown: Representation): Response {
  const watched = watchObjects(world, call.type, call.info, call.query, shown);
  if (!watched.ok) return answerStatus(watched.error);
  return new Response(watched.value, { headers: { "content-type": "application/json" } });
}

/** The type that a request is about, if it is served in this way. */
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
  const answer = await dispatch(world, call);
  if (!answer.ok) return answerStatus(answer.error);
  const { code, body } = answer.value;
  return answerBody(code, show(type.value, body, shown.value, world.now()));
}

/** Makes what a new cluster has from the start. What a request does is atomic, and stored when it is answered. */
export function createApiserver(options: ApiserverOptions): Apiserver {
  const { adminToken } = options;
  const store = withEventGroups(options.store);
  const world = { ...options, store };
  const { signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey } = options;
  const authenticator = createAuthenticator(options, adminToken, signingKey);
  const decide = authorize.bind(undefined, createRuleResolver(store));
  const control: AccessControl = { signer: authenticator.signer, decide };
  createDefaults(world);

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const user = authenticator.userOf(request.headers.get("authorization"));
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
