// A kube-apiserver for development and tests as one function: Request → Response. Opens no port and no file.
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Access, type AccessControl, accessOf } from "./access.ts";
import { answerBody, answerNothing, answerStatus, isForPeople, type Notation } from "./answer.ts";
import { createAuthenticator } from "./authentication.ts";
import { decodedPath, refuseForbidden } from "./authorization.ts";
import { createDefaults } from "./bootstrap.ts";
import type { Answer, Call } from "./call.ts";
import * as deletes from "./delete-handlers.ts";
import * as handlers from "./handlers.ts";
import { issuerDocument } from "./issuer-discovery.ts";
import type { ObjectList } from "./list.ts";
import type { ApiObject, Outcome } from "./object.ts";
import { negotiate, takesPlain } from "./negotiation.ts";
import { answerNonResource } from "./non-resource.ts";
import { refuseForm, type Representation, representationOf, showList, showObject } from "./representation.ts";
import { impersonate } from "./rbac/impersonation.ts";
import { createRuleResolver } from "./rbac/resolver.ts";
import { withJsonBody } from "./protobuf/request.ts";
import { parseRequestInfo, type RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import { findResourceType, resourceTypes } from "./resources.ts";
import * as refuse from "./status.ts";
import { addWarnings } from "./warnings.ts";
import { watchObjects } from "./watch.ts";
import * as writes from "./write-handlers.ts";
import type { Surroundings } from "./write.ts";

export interface ApiserverOptions extends Surroundings {
  /** The bearer token of a member of system:masters. */
  adminToken: string;
  /** Signs the tokens of service accounts: a private key on P-256. Without it, one that nobody will ever have again. */
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
      return handlers.get(world, call);
    case "list":
      return handlers.list(world, call);
    case "create":
      return await writes.create(world, call);
    case "update":
      return await writes.update(world, call);
    case "patch":
      return await writes.patch(world, call);
    case "delete":
      return await deletes.remove(world, call);
    case "deletecollection":
      return await deletes.removeCollection(world, call);
    default:
      return { refused: refuse.methodNotAllowed() };
  }
}

function isList(body: object): body is ObjectList {
  return "items" in body && Array.isArray(body.items);
}

/** Not so are a Status and what a subresource of its own answers. */
function isObjectOf(type: ResourceType, body: object): body is ApiObject {
  return "kind" in body && body.kind === type.kind;
}

function show(type: ResourceType, body: object, shown: Representation, now: Date): Outcome<object> {
  const list = isList(body);
  if (!list && !isObjectOf(type, body)) return { ok: body };
  const refused = refuseForm(shown, type, list);
  if (refused) return { refused };
  return { ok: list ? showList(type, body, shown, now) : showObject(type, body, shown, now) };
}

function answerWatch(world: Surroundings, call: Call, shown: Representation, notation: Notation): Response {
  const watched = watchObjects(world, call.type, call.info, call.query, shown);
  if ("refused" in watched) return answerStatus(watched.refused, notation);
  return new Response(watched.ok, { headers: { "content-type": "application/json" } });
}

function isServed({ group }: RequestInfo): boolean {
  return resourceTypes.some((type) => type.group === group);
}

/** The type that a request is about, if it is served in this way. */
function routeOf(request: Request, info: RequestInfo): Outcome<ResourceType> {
  const type = findResourceType(info);
  const verbs = type && verbsOf(type, info.subresource);
  if (!type || !verbs) return { refused: refuse.unknownResource() };
  const hasMethod = verbs.includes(info.verb) && hasRoute(info) && request.method !== "HEAD";
  return hasMethod ? { ok: type } : { refused: refuse.methodNotAllowed() };
}

async function answerResource(
  world: Surroundings,
  request: Request,
  url: URL,
  info: RequestInfo,
  access: Access,
): Promise<Response> {
  const query = url.searchParams;
  if (!isServed(info)) return answerNothing();
  const notation = notationOf(request, query);
  const type = routeOf(request, info);
  if ("refused" in type) return answerStatus(type.refused, notation);
  const negotiated = negotiate(request.headers.get("accept"), info.verb);
  if ("refused" in negotiated) return answerStatus(negotiated.refused, notation);
  const shown = representationOf(negotiated.ok, query);
  if ("refused" in shown) return answerStatus(shown.refused, notation);
  const readable = await withJsonBody(request);
  if ("refused" in readable) return answerStatus(readable.refused, notation);
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const call: Call = { request: readable.ok, query, info, type: type.ok, access, warn };
  if (info.verb === "watch") return answerWatch(world, call, shown.ok, notation);
  const answer = await dispatch(world, call);
  if ("refused" in answer) return addWarnings(answerStatus(answer.refused, notation), warnings);
  const body = show(type.ok, answer.ok.body, shown.ok, world.now());
  if ("refused" in body) return answerStatus(body.refused, notation);
  const { mediaType, pretty } = negotiated.ok;
  const isPretty = pretty || isForPeople(request, query);
  return addWarnings(answerBody(answer.ok.code, body.ok, { mediaType, pretty: isPretty }), warnings);
}

/** Of refusals and of what is no resource: a client that does not take plain objects is a person. */
function notationOf(request: Request, query: URLSearchParams): Notation {
  const pretty = isForPeople(request, query) || !takesPlain(request.headers.get("accept"));
  return { mediaType: "application/json", pretty };
}

/** Makes what a new cluster has from the start. What a request does is atomic, and stored when it is answered. */
export function createApiserver(options: ApiserverOptions): Apiserver {
  const { store, now, adminToken } = options;
  const { signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey } = options;
  const control: AccessControl = {
    authenticator: createAuthenticator(options, adminToken, signingKey),
    resolver: createRuleResolver(store),
    now,
  };
  const refuses = refuseForbidden.bind(undefined, control.resolver);
  createDefaults(options);

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const notation = notationOf(request, url.searchParams);
    const caller = control.authenticator.userOf(request.headers.get("authorization"));
    if (!caller) return answerStatus(refuse.unauthorized(), notation);
    const info = parseRequestInfo(request.method, url);
    const attributes = info ?? { verb: request.method.toLowerCase(), path: decodedPath(url) };
    const acting = impersonate(caller, request.headers, attributes, refuses);
    if ("refused" in acting) return answerStatus(acting.refused, notation);
    const user = acting.ok;
    const forbidden = refuses(user, attributes);
    if (forbidden) return answerStatus(forbidden, notation);
    if (!info) {
      const host = request.headers.get("host") ?? url.host;
      const issuer = request.method === "GET" && issuerDocument(url, host, control.authenticator.signer);
      return issuer || answerNonResource(request, url, notation);
    }
    return await answerResource(options, request, url, info, accessOf(control, user));
  }

  return {
    fetch: async (request) => {
      try {
        return await answer(request);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const notation: Notation = { mediaType: "application/json", pretty: false };
        return answerStatus(refuse.internalError(message), notation);
      }
    },
  };
}
