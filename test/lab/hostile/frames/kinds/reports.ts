// Makes hostile report frames: taken from other sockets, other machines or HTTP, repeated, or too many. Applies the
// changes for reports by HTTP (test/lab/hostile/kinds/) to frames as well.
import type { Attack, Draw, Kind } from "../../attack.ts";
import { bodyKinds } from "../../kinds/bodies.ts";
import { tokenKinds } from "../../kinds/tokens.ts";
import { type FrameDraw, type FrameKind, reportRequest, reportText, type Shot } from "../shot.ts";
import type { Tapped } from "../tapped.ts";

const anyOf = ({ random }: FrameDraw, { reports, withheld }: Tapped) =>
  random.pick([...reports, withheld.report, withheld.overHttp]);

/** Converts a request to a frame: the token of its header and its body. */
function framed({ headers, body }: Attack): Shot {
  const [line = ""] = [headers["authorization"] ?? ""].flat();
  const token = line.replace(/^Bearer /, "");
  return { text: JSON.stringify({ type: "report", token, body: Buffer.from(body).toString() }) };
}

const asFrames = (kinds: Record<string, Kind>): Record<string, FrameKind> =>
  Object.fromEntries(
    Object.entries(kinds).map(([kind, make]) => [
      `report, ${kind}`,
      ({ random, recording, thief }) => framed(make({ random, recording, thief } satisfies Draw)),
    ]),
  );

export const reportKinds: Record<string, FrameKind> = {
  ...asFrames(tokenKinds),
  ...asFrames(bodyKinds),
  "another socket's report": (draw) => ({ text: reportText(anyOf(draw, draw.other)) }),
  "report of a socket before": (draw) => ({ text: reportText(anyOf(draw, draw.before)) }),
  "report for HTTP": ({ target }) => ({ text: reportText(target.withheld.overHttp) }),
  "replayed report": (draw) => ({
    text: reportText(draw.random.pick([...draw.target.reports, draw.target.withheld.overHttp])),
  }),
  "exchanged bodies of reports": (draw) => {
    const [{ token }, { body }] = [anyOf(draw, draw.target), anyOf(draw, draw.other)];
    return { text: reportText({ type: "report", token, body }) };
  },
  "a socket's report over HTTP": (draw) => {
    const { target, other, random } = draw;
    const of = random.chance(0.7) ? target : other;
    return { request: reportRequest(of.name, random.chance(0.7) ? of.withheld.report : anyOf(draw, target)) };
  },
  "flood of reports": (draw) => ({
    text: reportText({ ...anyOf(draw, draw.other), body: "{}" }),
    times: 15 + draw.random.int(15),
  }),
};
