import { expect, test } from "vitest";
import {
  COMPARED_MINORS,
  kubeletVersion,
  minorOf,
  writtenMinor,
} from "../../../shared/from-report/kubelet-version.ts";
import { VERSION } from "../../../shared/version.ts";
import { nodeInfo } from "../setters/node-info.ts";

const { oldest, newest } = COMPARED_MINORS;

test.each<[cluster: string, minor: number | undefined, reported: number]>([
  ["of an earlier version", 30, 30],
  ["of a compared version", newest, newest],
  ["of a later version", newest + 1, newest],
  ["of an unknown version", undefined, oldest],
])("a Node in a cluster %s (%s) → reports %s", (_, minor, reported) => {
  expect(kubeletVersion(minor)).toBe(`v1.${reported}.0-rollcall-v${VERSION}`);
});

test.each<[version: string, minor: number | undefined]>([
  ["v1.36.3", 36],
  ["v1.33.5-gke.1080000", 33],
  ["v1.34.1+k3s1", 34],
  ["v1.40.0-alpha.1.5+abcdef", 40],
  ["v2.1.0", undefined],
  ["1.36", undefined],
  ["v1.99999.0", undefined],
  ["", undefined],
])("%j → the minor version %s", (version, minor) => {
  expect(minorOf(version)).toBe(minor);
});

test.each<[writer: string, kubelet: string | undefined, minor: number | undefined]>([
  ["rollcall", kubeletVersion(35), 35],
  ["an earlier rollcall", "v1.36.0-rollcall-v0.0.1", 36],
  ["a kubelet", "v1.36.3", undefined],
  ["nobody", undefined, undefined],
])("the Node's version, written by %s → %s", (_, kubelet, minor) => {
  const status = kubelet === undefined ? {} : { nodeInfo: nodeInfo({ kubeletVersion: kubelet }) };
  expect(writtenMinor({ status })).toBe(minor);
});
