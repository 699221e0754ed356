// The join tokens of a local cluster, minted through the same API that every operator uses.
import { mintedTokenSchema } from "../../shared/protocol/operator-answers.ts";
import { ask, readAnswer } from "../operator/client.ts";

export interface TokenWish {
  names: string;
  uses: number;
  withoutFactsOnlyTaint: boolean;
}

/** Long enough for a first start; the machines' own keys do not expire. */
const EXPIRES_IN_SECONDS = 3600;

/** The secret text of a new join token. */
export async function mintToken(workerUrl: string, adminSecret: string, wish: TokenWish): Promise<string> {
  const connection = { url: workerUrl, headers: { authorization: `Bearer ${adminSecret}` } };
  const body = { ...wish, expiresInSeconds: EXPIRES_IN_SECONDS };
  const answer = await ask(connection, { method: "POST", path: "/v1/tokens", body });
  const minted = answer.ok ? readAnswer(mintedTokenSchema, answer.value) : answer;
  if (!minted.ok) throw new Error(minted.error.says);
  return minted.value.token;
}
