//! Members that choose a model, a provider, a plugin or a price where this gateway cannot see it: one table.
//!
//! Gateways of models, hosts of models and SDKs take such members beside `model`, at the outside of a body; some fallbacks have
//! them too. The gateway reads `model`, so a source that obeys one of these runs what nobody checked. Whatever stands deeper is
//! not read: the member that leads to it is (`extra_body`), or what it stands in is content (`provider` in a message).
//!
//! A member that is not in the table goes on untouched. None that an official SDK of the three protocols knows is
//! refused; `fallbacks` is one of those, and is read.

use super::field::MAX_WORD;

/// The treatment of a member of the table. One that is `null` passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteeringAction {
    /// It is refused, unless the source lets it pass.
    Refused,
    /// It lists models, by their names or in objects with a `model`: each is checked.
    Models,
    /// It names a model, which is checked.
    Model,
    /// It is what the type of a tool begins with, before the `*`: such a tool is refused, unless the source lets it pass.
    ToolRefused,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct SteeringMember {
    /// The name, as its vendor writes it. A `*` at its end stands for anything.
    pub name: &'static str,
    /// The treatment of bodies that have the member.
    pub action: SteeringAction,
    /// The vendor, and the page of its documentation that has the member.
    pub page: &'static str,
}

impl SteeringMember {
    /// Whether a source may let it pass.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.action,
            SteeringAction::Refused | SteeringAction::ToolRefused
        )
    }

    /// Whether the name says only how a member begins.
    fn is_start(&self) -> bool {
        self.name.ends_with('*')
    }

    /// Whether `key` is this name in any case of letters, in `snake_case`, `kebab-case` or `camelCase`.
    fn reads_as(&self, key: &[u8]) -> bool {
        let mut rest = key;
        for letter in self.name.bytes() {
            match letter {
                b'*' => return true,
                b'_' => {}
                _ => match next_letter(rest) {
                    Some((found, behind)) if found == letter => rest = behind,
                    _ => return false,
                },
            }
        }
        rest.iter().all(|byte| is_joint(*byte))
    }
}

/// Whether a byte joins the words of a name, and says nothing itself.
fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'-')
}

/// The next letter of a key, in lower case as a parser that ignores case takes it (see [`eq_fold`]), and what is behind it.
///
/// [`eq_fold`]: super::field::eq_fold
fn next_letter(key: &[u8]) -> Option<(u8, &[u8])> {
    let mut rest = key;
    loop {
        return match rest {
            [byte, behind @ ..] if is_joint(*byte) => {
                rest = behind;
                continue;
            }
            [0xC5, 0xBF, behind @ ..] => Some((b's', behind)),
            [0xE2, 0x84, 0xAA, behind @ ..] => Some((b'k', behind)),
            [byte, behind @ ..] => Some((byte.to_ascii_lowercase(), behind)),
            [] => None,
        };
    }
}

const fn row(name: &'static str, action: SteeringAction, page: &'static str) -> SteeringMember {
    SteeringMember { name, action, page }
}

/// The table.
#[rustfmt::skip]
pub static STEERING: [SteeringMember; 59] = {
    use SteeringAction::{Model, Models, Refused, ToolRefused};
    [
        row("models", Models, "OpenRouter, model fallbacks; also ngrok"),
        row("fallbacks", Models, "Anthropic, refusals and fallback; LiteLLM, client-side fallbacks; also Eden AI, AssemblyAI"),
        row("fallback_models", Models, "of several gateways, like fallbacks"),
        row("fallback_model", Model, "of several gateways, like fallbacks"),
        row("context_window_fallbacks", Models, "LiteLLM, fallbacks"),
        row("content_policy_fallbacks", Models, "LiteLLM, fallbacks"),
        row("safety_model", Model, "Together AI, chat completions"),
        row("draft_model", Model, "LM Studio, speculative decoding"),
        row("preset", Refused, "OpenRouter, presets; Perplexity, agent presets"),
        row("plugins", Refused, "OpenRouter, plugins"),
        row("provider", Refused, "OpenRouter, provider routing; Portkey, configs"),
        row("providers", Refused, "Eden AI, fallback of providers"),
        row("route", Refused, "OpenRouter, model routing"),
        row("transforms", Refused, "OpenRouter, message transforms"),
        row("openrouter:*", ToolRefused, "OpenRouter, server tools"),
        row("provider_options", Refused, "Vercel, AI gateway, provider options"),
        row("provider_routing_strategy", Refused, "ZenMux, provider routing"),
        row("model_routing_config", Refused, "ZenMux, model routing"),
        row("config", Refused, "Portkey, configs"),
        row("targets", Refused, "Portkey, configs"),
        row("strategy", Refused, "Portkey, configs"),
        row("virtual_key", Refused, "Portkey, virtual keys"),
        row("override_params", Refused, "Portkey, configs"),
        row("prompt_id", Refused, "LiteLLM, prompt management; Helicone, prompt management"),
        row("agent", Refused, "Azure, Foundry, agents by the Responses API"),
        row("agent_reference", Refused, "Azure, Foundry, agents by the Responses API"),
        row("deployment*", Refused, "Azure OpenAI, older SDKs; LiteLLM, input parameters"),
        row("engine", Refused, "OpenAI, engines (older API)"),
        row("data_sources", Refused, "Azure OpenAI, on your data: it runs an embedding deployment"),
        row("lora_path", Refused, "SGLang, LoRA serving"),
        row("adapter_id", Refused, "Hugging Face TGI and LoRAX, adapters"),
        row("performance_config", Refused, "Amazon Bedrock, latency-optimized inference, which has a price of its own"),
        row("extra_body", Refused, "LiteLLM, provider-specific parameters"),
        row("extra_headers", Refused, "LiteLLM, input parameters"),
        row("extra_query", Refused, "OpenAI SDK, undocumented parameters, where a client sends the argument itself"),
        row("headers", Refused, "LiteLLM, input parameters"),
        row("provider_specific_header", Refused, "LiteLLM, input parameters"),
        row("api_base", Refused, "LiteLLM, clientside credentials"),
        row("base_url", Refused, "LiteLLM, clientside credentials"),
        row("api_key", Refused, "LiteLLM, clientside credentials"),
        row("api_type", Refused, "LiteLLM, input parameters"),
        row("user_config", Refused, "LiteLLM, clientside credentials"),
        row("custom_llm_provider", Refused, "LiteLLM, input parameters"),
        row("model_list", Refused, "LiteLLM, input parameters"),
        row("model_alias_map", Refused, "LiteLLM, model aliases"),
        row("model_info", Refused, "LiteLLM, custom pricing"),
        row("base_model", Refused, "LiteLLM, custom pricing"),
        row("context_window_fallback_dict", Refused, "LiteLLM, reliable completions"),
        row("input_cost_per_*", Refused, "LiteLLM, custom pricing"),
        row("output_cost_per_*", Refused, "LiteLLM, custom pricing"),
        row("mock_*", Refused, "LiteLLM, mock requests: an answer that no model gave, or a fallback that is forced"),
        row("litellm_*", Refused, "LiteLLM, its own metadata, credentials and parameters"),
        row("routing_strategy", Refused, "LiteLLM, router settings"),
        row("router_settings_override", Refused, "LiteLLM, router settings"),
        row("allowed_model_region", Refused, "LiteLLM, region-based routing"),
        row("region_name", Refused, "LiteLLM, input parameters: a region may have prices of its own"),
        row("tags", Refused, "LiteLLM, tag based routing"),
        row("aws_*", Refused, "LiteLLM, Bedrock: region, role and endpoint"),
        row("vertex_*", Refused, "LiteLLM, Vertex AI: project, location and credentials"),
    ]
};

/// The place of a member in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteeringId(u8);

impl SteeringId {
    /// Returns the member's row of the table.
    pub fn member(self) -> Option<&'static SteeringMember> {
        STEERING.get(usize::from(self.0))
    }
}

/// The member that a key names.
// Few keys are none of those that every client sends: this stays out of the way of the others.
#[inline(never)]
pub(super) fn steering_member(key: &[u8]) -> Option<SteeringId> {
    find(key, |action| action != SteeringAction::ToolRefused)
}

/// The row that the type of a tool belongs to.
#[inline(never)]
pub(super) fn steering_tool(kind: &[u8]) -> Option<SteeringId> {
    // Most tools are functions.
    if kind == b"function" {
        return None;
    }
    find(kind, |action| action == SteeringAction::ToolRefused)
}

fn find(key: &[u8], among: impl Fn(SteeringAction) -> bool) -> Option<SteeringId> {
    // Of a longer one no more may have been kept, so only what it begins with counts.
    let is_whole = key.len() <= MAX_WORD;
    let key = key.get(..=MAX_WORD).unwrap_or(key);
    let fits = |row: &SteeringMember| among(row.action) && (is_whole || row.is_start());
    let mut rows = STEERING.iter();
    let at = rows.position(|row| fits(row) && row.reads_as(key))?;
    u8::try_from(at).ok().map(SteeringId)
}

/// Some members of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SteeringSet(u64);

// Each has a bit.
const _: () = assert!(STEERING.len() <= 64);

impl SteeringSet {
    /// Adds the member that a source lets pass, by its name in the table. Whether there is such a one.
    pub fn allow(&mut self, name: &str) -> bool {
        let mut rows = STEERING.iter();
        let at = rows.position(|row| row.may_pass() && row.name == name);
        let id = at.and_then(|at| u8::try_from(at).ok()).map(SteeringId);
        id.map(|id| self.insert(id)).is_some()
    }

    /// The names that [`allow`](Self::allow) takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        STEERING
            .iter()
            .filter(|row| row.may_pass())
            .map(|row| row.name)
    }

    pub(super) fn insert(&mut self, id: SteeringId) {
        self.0 |= 1u64.wrapping_shl(u32::from(id.0));
    }

    /// The first of these that is not among `others`.
    pub fn first_outside(self, others: Self) -> Option<&'static SteeringMember> {
        let first = (self.0 & !others.0).trailing_zeros();
        STEERING.get(usize::try_from(first).ok()?)
    }
}

#[cfg(test)]
mod tests;
