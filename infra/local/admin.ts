// The operator's side of the Worker: mints join tokens through the same API that every operator uses.

export interface TokenWish {
  names: string;
  uses: number;
  withoutFactsOnlyTaint: boolean;
}

/** Long enough for a first start; the machines' own keys do not expire. */
const EXPIRES_IN_SECONDS = 3600;

/** The secret text of a new join token. */
export async function mintToken(workerUrl: string, adminSecret: string, wish: TokenWish): Promise<string> {
  const answer = await fetch(`${workerUrl}/v1/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminSecret}`, "content-type": "application/json" },
    body: JSON.stringify({ ...wish, expiresInSeconds: EXPIRES_IN_SECONDS }),
  });
  const body = (await answer.json()) as { token?: string; detail?: string };
  if (!answer.ok || !body.token)
    throw new Error(`the Worker minted no join token: HTTP ${answer.status} ${body.detail ?? ""}`);
  return body.token;
}
