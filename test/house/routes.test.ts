// Compares the routes in handwritten pages with the API's description: each named route exists with its parameters.
// The generated docs/api.md is not compared.
import { expect, it, test } from "vitest";
import { ROUTES, type RouteRules } from "../../shared/protocol/routes.ts";
import { type Page, pages } from "./markdown.ts";

/** The routes of static files, which the platform serves without the Worker. */
const STATIC = new Set(["GET /openapi.json"]);
/** The routes of other programs: an Alertmanager's, and an apiserver's in short form. */
const ELSEWHERE = new Set(["POST /api/v2/alerts", "PATCH /status"]);

const REQUEST = /\b(GET|HEAD|POST|PUT|PATCH|DELETE) (\/[^\s`"'|)?]*)(?:\?([^\s`"'|)]*))?/g;

/** Replaces each variable part of a path (in braces, in capitals, or a number) by {}. */
const shape = (path: string) =>
  path.replace(/[.,:;…]+$/, "").replaceAll(/\{\w+\}|(?<=\/)[A-Z]+(?=\/|$)|(?<=\/)\d+(?=\/|$)/g, "{}");

const parametersOf = new Map(
  Object.entries<RouteRules>(ROUTES).map(([name, { query }]) => [
    shape(name),
    new Set(Object.keys(query?.shape ?? {})),
  ]),
);

/** Lists the routes that a page names. A route that does not exist has a fault. */
function named({ text }: Pick<Page, "text">): { route: string; fault?: string }[] {
  return [...text.matchAll(REQUEST)].flatMap(([whole, method = "", path = "", query = ""]) => {
    const route = `${method} ${shape(path)}`;
    if (STATIC.has(route) || ELSEWHERE.has(route)) return [];
    const known = parametersOf.get(route);
    if (!known) return [{ route, fault: `${whole}: no such route` }];
    const unknown = [...query.matchAll(/(?:^|&)(\w+)/g)].find(([, name = ""]) => !known.has(name));
    return [{ route, ...(unknown && { fault: `${whole}: no such parameter` }) }];
  });
}

const byHand = pages().filter(({ path }) => path !== "docs/api.md");

it("each route that a page names is there, with the parameters that it names", () => {
  const faults = byHand.flatMap((page) =>
    named(page).flatMap(({ fault }) => (fault === undefined ? [] : [`${page.path}: ${fault}`])),
  );
  expect(faults).toEqual([]);
});

test.each<[text: string, faults: (string | undefined)[]]>([
  ["`GET /v1/nodes/edge-7`", ["GET /v1/nodes/edge-7: no such route"]],
  ["`GET /v1/nodes/{name}` and GET /v1/nodes/NAME.", [undefined, undefined]],
  ["`PUT /v1/nodes/{name}`", ["PUT /v1/nodes/{name}: no such route"]],
  ["`GET /v1/machines?state=silent&limit=5`", [undefined]],
  ["`GET /v1/machines?colour=red`", ["GET /v1/machines?colour=red: no such parameter"]],
  ["`GET /openapi.json`", []],
])("%s → %j", (text, faults) => {
  expect(named({ text }).map(({ fault }) => fault)).toEqual(faults);
});
