// Conversions of what vendors publish to definitions of JSON Schema, of which "Request" is that of a whole request.

const base64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
const reference = (name) => ({ $ref: `#/definitions/${name}` });

// fromOpenAPI closes objects that list their members, and puts the parts of an allOf into one.
export function fromOpenAPI(tree, root) {
  const schemas = tree.components.schemas;
  const definitions = {};
  const waiting = [["Request", root]];
  const kept = ["enum", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"];
  const followed = (schema) => (schema.$ref ? followed(schemas[schema.$ref.split("/").pop()]) : schema);
  while (waiting.length) {
    const [name, of] = waiting.pop();
    if (definitions[name]) continue;
    definitions[name] = {};
    definitions[name] = converted(schemas[of]);
  }
  return definitions;

  function converted(schema) {
    if (typeof schema === "boolean") return schema;
    if (schema.$ref) {
      const name = schema.$ref.split("/").pop();
      waiting.push([name, name]);
      return reference(name);
    }
    if (schema.allOf) schema = merged(schema);
    const out = {};
    for (const key of kept) if (schema[key] !== undefined) out[key] = schema[key];
    for (const key of ["exclusiveMinimum", "exclusiveMaximum"]) if (typeof schema[key] === "number") out[key] = schema[key];
    if (schema.type) out.type = schema.nullable ? [schema.type, "null"].flat() : schema.type;
    if (schema.enum && schema.nullable) out.enum = [...schema.enum, null];
    if (schema.pattern && !schema.pattern.includes("(?!")) out.pattern = schema.pattern;
    if (schema.items) out.items = converted(schema.items);
    const union = schema.anyOf ?? schema.oneOf;
    if (union) out.anyOf = union.map(converted);
    if (union && schema.nullable) out.anyOf.push({ type: "null" });
    if (schema.properties) {
      out.properties = Object.fromEntries(Object.entries(schema.properties).map(([name, member]) => [name, converted(member)]));
      if (schema.required?.length) out.required = schema.required.filter((name) => schema.properties[name]);
      if (!union) out.additionalProperties = schema.additionalProperties ? converted(schema.additionalProperties) : false;
    } else if (schema.additionalProperties) out.additionalProperties = converted(schema.additionalProperties);
    return out;
  }

  function merged({ allOf, ...rest }) {
    const parts = allOf.map(followed).map((part) => (part.allOf ? merged(part) : part)).concat(rest);
    const all = Object.assign({}, ...parts);
    const members = parts.filter((part) => part.properties);
    if (members.length) all.properties = Object.assign({}, ...members.map((part) => part.properties));
    all.required = [...new Set(parts.flatMap((part) => part.required ?? []))];
    return all;
  }
}

// fromBotocore reads the shapes of an AWS service. A member that travels in the path or a header is none of the body.
export function fromBotocore({ shapes }, root) {
  const definitions = {};
  reach(root);
  definitions.Request = definitions[root];
  delete definitions[root];
  return definitions;

  function reach(name) {
    if (definitions[name]) return reference(name);
    const shape = shapes[name];
    definitions[name] = {}; // it may hold itself
    definitions[name] = converted(shape);
    return reference(name);
  }

  function converted(shape) {
    const [least, most] = [shape.min, shape.max];
    const range = (from, to) => ({ ...(least !== undefined && { [from]: least }), ...(most !== undefined && { [to]: most }) });
    switch (shape.type) {
      case "structure": {
        if (shape.document) return {};
        const members = Object.entries(shape.members).filter(([, member]) => !member.location);
        const properties = Object.fromEntries(members.map(([key, member]) => [member.locationName ?? key, reach(member.shape)]));
        const required = (shape.required ?? []).filter((key) => properties[key]);
        return { type: "object", properties, additionalProperties: false, ...(required.length && { required }), ...(shape.union && { minProperties: 1, maxProperties: 1 }) };
      }
      case "list": return { type: "array", items: reach(shape.member.shape), ...range("minItems", "maxItems") };
      case "map": return { type: "object", additionalProperties: reach(shape.value.shape), propertyNames: reach(shape.key.shape), ...range("minProperties", "maxProperties") };
      case "string": return { type: "string", ...(shape.enum && { enum: shape.enum }), ...(shape.pattern && { pattern: `^(?:${shape.pattern.replace(/^\^|\$$/g, "")})$` }), ...range("minLength", "maxLength") };
      case "blob": return { type: "string", pattern: base64, ...(least && { minLength: 1 }) };
      case "boolean": return { type: "boolean" };
      case "float": case "double": return { type: "number", ...range("minimum", "maximum") };
      case "integer": case "long": return { type: "integer", ...range("minimum", "maximum") };
    }
    throw new Error(`no type ${shape.type}`);
  }
}

const scalars = {
  string: { type: "string" }, bool: { type: "boolean" }, int64: { type: ["integer", "string"] }, float: { type: "number" }, double: { type: "number" },
  bytes: { type: "string", pattern: "^[A-Za-z0-9+/_-]*={0,2}$" }, int32: { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  "google.protobuf.Struct": { type: "object" }, "google.protobuf.Value": {}, "google.protobuf.ListValue": { type: "array" },
  "google.type.Interval": { type: "object" }, "google.type.LatLng": { type: "object" }, "google.protobuf.Duration": { type: "string" }, "google.protobuf.Timestamp": { type: "string" },
};

// fromProtobuf reads messages as their JSON has them: a group of alternatives has one at most.
export function fromProtobuf(beta, root) {
  const definitions = {};
  reach(root, [beta]);
  definitions.Request = definitions[root];
  delete definitions[root];
  return definitions;

  function reach(type, scopes) {
    if (scalars[type]) return { ...scalars[type] };
    const scope = scopes.find((s) => s.nested?.[type]);
    if (!scope) throw new Error(`no type ${type}`);
    const name = scope.name ? `${scope.name}.${type}` : type;
    if (definitions[name]) return reference(name);
    const found = scope.nested[type];
    definitions[name] = {}; // it may hold itself
    definitions[name] = found.values ? { enum: Object.keys(found.values) } : message(found, [{ ...found, name }, ...scopes]);
    return reference(name);
  }

  function message(found, scopes) {
    const properties = {};
    const names = Object.fromEntries(Object.entries(found.fields).map(([key, field]) => [key, field.options?.json_name ?? key]));
    for (const [key, field] of Object.entries(found.fields)) {
      const one = reach(field.type, scopes);
      if (field.keyType) properties[names[key]] = { type: "object", additionalProperties: one };
      else properties[names[key]] = field.rule === "repeated" ? { type: "array", items: one } : one;
    }
    const required = Object.keys(found.fields).filter((key) => found.fields[key].options?.["(google.api.field_behavior)"] === "REQUIRED").map((key) => names[key]);
    const groups = Object.values(found.oneofs ?? {}).filter((group) => group.oneof.length > 1);
    const pairs = groups.flatMap(({ oneof }) => oneof.flatMap((a, i) => oneof.slice(i + 1).map((b) => ({ required: [names[a], names[b]] }))));
    return { type: "object", properties, additionalProperties: false, ...(required.length && { required }), ...(pairs.length && { not: { anyOf: pairs } }) };
  }
}

// snakeCased has the names of members as they are on the wire, where a package has them as its language does.
export function snakeCased(schema) {
  if (Array.isArray(schema)) return schema.map(snakeCased);
  if (typeof schema !== "object" || schema === null) return schema;
  const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
  const out = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, snakeCased(value)]));
  if (out.required) out.required = out.required.map(snake);
  if (out.properties) out.properties = Object.fromEntries(Object.entries(out.properties).map(([key, value]) => [snake(key), value]));
  return out;
}
