// The package has no types. It is a CommonJS module, and its `default` is the path of the program.
declare module "workerd" {
  const workerd: { default: string };
  // oxlint-disable-next-line import/no-default-export -- what Node makes of a CommonJS module
  export default workerd;
}
