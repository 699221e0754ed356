// Makes enrolments with invented join tokens in the form of this version: the registry must not get a request.
import { JWT_TYPES } from "../../../../shared/protocol/claims.ts";
import { ORIGIN } from "../agreed.ts";
import { enrolling, type Kind } from "../attack.ts";
import { challengeAt, keyOfSeed, signedBy, takenApart } from "../jwt.ts";

/** The number of bytes in a stamp. */
const STAMP_BYTES = 24;

export const inventedKinds: Record<string, Kind> = {
  "invented join token": ({ random, thief, recording }) => {
    const challenges = recording.requests
      .filter(({ method }) => method === "PUT")
      .map(({ body }) => takenApart((JSON.parse(body) as { proof: string }).proof).claims["challenge"])
      .filter((challenge) => challenge !== "");
    const name = `invented-${random.int(1e6)}`;
    const path = `/v1/nodes/${name}/enrolment`;
    const { thumbprint: jkt, x } = thief;
    const challenge = challengeAt(challenges.at(-1), name, jkt);
    const vouched = { sub: name, aud: ORIGIN, method: "PUT", path, jkt, challenge };
    const token = keyOfSeed(random.bytes(32));
    const stamp = Buffer.from(random.bytes(STAMP_BYTES)).toString("base64url");
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    const claims = { ...vouched, machineID: name, systemUUID: name };
    const proof = signedBy(thief, { alg: "EdDSA", typ: JWT_TYPES.enrol, jwk }, claims);
    const header = { alg: "EdDSA", typ: JWT_TYPES.join, kid: token.thumbprint, stamp };
    const request = { method: "PUT", path, headers: {}, body: "" } as const;
    return enrolling(request, { protocol: 1, proof, binding: signedBy(token, header, vouched) });
  },
};
