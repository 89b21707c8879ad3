// The OpenAPI description as a page.

import { byId, element, table } from "./dom.js";

/** Examples for each address, with words of this model or nodes of this network. */
async function examples(paths) {
  const { words, nodes } = await (await fetch(`/api/${"/api/nodes" in paths ? "nodes" : "words"}?count=2`)).json();
  const [one, other] = (words ?? nodes).map(({ word, name }) => encodeURIComponent(word ?? name));
  return {
    "/api/nodes": "?prefix=a&count=5",
    "/api/neighbours": `?name=${one}&count=5`,
    "/api/about": "",
    "/api/health": "",
    "/api/map": "",
    "/api/words": `?prefix=${one.slice(0, 2)}&count=5`,
    "/api/images": `?word=${one}&word=${other ?? one}`,
    "/api/image": `?word=${one}&n_words=5&alpha=0.5*auto`,
    "/api/documents": `?word=${one}&count=2`,
    "/api/compare": `?first=${one}&second=${other ?? one}`,
  };
}

function typeOf(schema, schemas) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, schemas)).join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items, schemas) : "values"}`;
  const range = [schema.minimum, schema.maximum].every((one) => one !== undefined)
    ? `, ${schema.minimum} to ${schema.maximum}` : "";
  return (schema.type ?? "value") + range;
}

const code = (text) => element("code", {}, text);

function usual(parameter) {
  if (parameter.required) return "needed";
  const value = parameter.schema.default;
  return value === undefined || value === "" || (Array.isArray(value) && !value.length) ? "" : `else ${value}`;
}

function answers(operation, schemas) {
  return Object.entries(operation.responses).map(([status, { description, content }]) => {
    const schema = content?.["application/json"]?.schema;
    return [code(status), description, schema ? typeOf(schema, schemas) : ""];
  });
}

function operationCard(path, operation, schemas, tried) {
  const parameters = operation.parameters ?? [];
  const example = path in tried ? path + tried[path] : null;
  return element(
    "section",
    { class: "card" },
    element("h2", {}, code(`GET ${path}`)),
    element("p", {}, `${operation.summary}.`),
    parameters.length
      ? table(["Parameter", "Type", "", "Meaning"], parameters.map((one) => [
          code(one.name), typeOf(one.schema, schemas), usual(one), one.description ?? one.schema.description ?? "",
        ]))
      : null,
    table(["Status", "Meaning", "Body"], answers(operation, schemas)),
    example ? element("p", {}, "Try ", element("a", { href: example }, example)) : null,
  );
}

function schemaCard(name, schema, schemas) {
  return element(
    "section",
    { class: "card" },
    element("h2", {}, code(name)),
    element("p", {}, schema.description ?? ""),
    table(["Field", "Type", "Meaning"], Object.entries(schema.properties ?? {}).map(([field, one]) => [
      code(field), typeOf(one, schemas), one.description ?? "",
    ])),
  );
}

const description = await (await fetch("/openapi.json")).json();
const tried = await examples(description.paths);
const schemas = Object.fromEntries(
  Object.entries(description.components.schemas).filter(([name]) => !name.includes("Validation")),
);
byId("brand").textContent = description.info.title.replace("sketchlasso ", "").replace(/^./, (letter) => letter.toUpperCase());
byId("summary").textContent = description.info.description;
byId("paths").replaceChildren(
  ...Object.entries(description.paths).map(([path, { get }]) => operationCard(path, get, schemas, tried)),
  element("h1", {}, "Bodies"),
  ...Object.entries(schemas).map(([name, schema]) => schemaCard(name, schema, schemas)),
);
