// Tests which roles a machine without a kubelet may have.
import { expect, test } from "vitest";
import { isRoleLabel, roleFault, roleLabel } from "../../../shared/kubernetes/roles.ts";

test.each<[role: string, fault: string | null]>([
  ["edge", null],
  ["Edge_7.a-b", null],
  ["x".repeat(63), null],
  ["x".repeat(64), "not a role's name"],
  ["", "not a role's name"],
  ["-edge", "not a role's name"],
  ["edge.", "not a role's name"],
  ["edge shop", "not a role's name"],
  ["a/b", "not a role's name"],
  ["control-plane", "a role of the control plane"],
  ["master", "a role of the control plane"],
  ["etcd", "a role of the control plane"],
])("%j → %j", (role, fault) => {
  expect(roleFault(role)).toBe(fault);
});

test.each<[key: string, is: boolean]>([
  [roleLabel("edge"), true],
  ["kubernetes.io/role", true],
  ["node-role.kubernetes.io", false],
  ["x.node-role.kubernetes.io/edge", false],
  ["kubernetes.io/os", false],
])("%s is a role's label: %s", (key, is) => {
  expect(isRoleLabel(key)).toBe(is);
});
