// The routes of join tokens.
import { tokenRequestSchema } from "../../../shared/protocol/join-tokens.ts";
import { mintedTokenSchema, tokensSchema } from "../../../shared/protocol/operator-answers.ts";
import { wholeListSchema } from "../../../shared/protocol/parameters.ts";
import { FORMAT, list } from "../lists.ts";
import { DONE, json, query, type Route } from "../route.ts";

export const TOKEN_ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/tokens",
    id: "mintToken",
    group: "tokens",
    who: "admin",
    what: "Mint a join token",
    more: "Labels, taints and roles are to be such as an apiserver takes of a kubelet, and none of rollcall's own.",
    body: tokenRequestSchema,
    answers: { 201: json("The token: the only answer with its secret.", "MintedToken", mintedTokenSchema) },
  },
  {
    method: "GET",
    path: "/v1/tokens",
    id: "listTokens",
    group: "tokens",
    who: "view",
    what: "List join tokens, newest first",
    query: query(wholeListSchema, FORMAT),
    answers: { 200: list("All tokens, without their secrets.", "Tokens", tokensSchema) },
  },
  {
    method: "DELETE",
    path: "/v1/tokens/{id}",
    id: "revokeToken",
    group: "tokens",
    who: "admin",
    what: "Revoke a join token",
    more: "Nobody enrols with it any more; machines that did go on.",
    answers: DONE,
    refusals: ["not-found"],
  },
];
