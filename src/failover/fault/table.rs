//! The known words of vendors for the faults of an account, each with a page that shows them.

use super::words::ErrorWords;
use crate::ledger::AccountFault::{self, DeadKey, NoCredit, NoModel, Region, Suspended};

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    /// A type, code or reason that the error must have; empty for any.
    code: &'static str,
    message: Message,
    pub fault: AccountFault,
    /// The page that shows an answer with these words.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader of the table"))]
    pub page: &'static str,
}

/// The message that an error must have.
#[derive(Debug)]
enum Message {
    Any,
    Whole(&'static str),
    Beginning(&'static str),
}

use Message::{Any, Beginning, Whole};

impl Row {
    const fn new(
        code: &'static str,
        message: Message,
        fault: AccountFault,
        page: &'static str,
    ) -> Self {
        Self {
            code,
            message,
            fault,
            page,
        }
    }

    /// Whether an error has these words.
    pub(super) fn fits(&self, words: &ErrorWords) -> bool {
        let message = words.message.as_str();
        let has_message = match self.message {
            Any => true,
            Whole(whole) => message == whole,
            Beginning(beginning) => message.starts_with(beginning),
        };
        has_message && (self.code.is_empty() || words.codes.iter().any(|code| code == self.code))
    }
}

const BAD: &str = "invalid_request_error";

/// The rows; the first that fits is taken.
#[rustfmt::skip]
pub(super) const FAULTS: &[Row] = &[
    // Anthropic
    Row::new(BAD, Beginning("Your credit balance is too low to access the Anthropic API."), NoCredit, "https://github.com/anthropics/claude-code/issues/66314"),
    Row::new(BAD, Beginning("You have reached your specified API usage limits."), NoCredit, "https://docs.anthropic.com/en/api/rate-limits"),
    Row::new(BAD, Whole("This organization has been disabled."), Suspended, "https://github.com/anthropics/claude-code/issues/9384"),
    Row::new("not_found_error", Beginning("model: "), NoModel, "https://docs.anthropic.com/en/api/errors"),
    // OpenAI, and those that took over its codes
    Row::new("insufficient_quota", Any, NoCredit, "https://platform.openai.com/docs/guides/error-codes"),
    Row::new("billing_hard_limit_reached", Any, NoCredit, "https://github.com/redevrx/chat_gpt_sdk/issues/84"),
    Row::new("", Whole("Billing hard limit has been reached"), NoCredit, "https://github.com/all-in-aigc/aiwallpaper/issues/2"),
    Row::new("invalid_api_key", Any, DeadKey, "https://platform.openai.com/docs/guides/error-codes"),
    Row::new("account_deactivated", Any, Suspended, "https://platform.openai.com/docs/guides/error-codes"),
    Row::new("unsupported_country_region_territory", Any, Region, "https://platform.openai.com/docs/guides/error-codes"),
    Row::new("model_not_found", Any, NoModel, "https://platform.openai.com/docs/guides/error-codes"),
    // Gemini
    Row::new("API_KEY_INVALID", Any, DeadKey, "https://ai.google.dev/gemini-api/docs/troubleshooting"),
    Row::new("CONSUMER_SUSPENDED", Any, Suspended, "https://cloud.google.com/service-infrastructure/docs/service-control/reference/rest/v1/services/check"),
    Row::new("FAILED_PRECONDITION", Beginning("User location is not supported for the API use."), Region, "https://ai.google.dev/gemini-api/docs/troubleshooting"),
    Row::new("NOT_FOUND", Beginning("models/"), NoModel, "https://ai.google.dev/gemini-api/docs/troubleshooting"),
    // xAI
    Row::new("", Beginning("Incorrect API key provided: "), DeadKey, "https://github.com/openai/codex/issues/1352"),
    Row::new("Some requested entity was not found", Beginning("The model "), NoModel, "https://docs.x.ai/docs/key-information/debugging"),
    // Groq
    Row::new("organization_restricted", Any, Suspended, "https://github.com/songquanpeng/one-api/issues/1764"),
    Row::new("model_decommissioned", Any, NoModel, "https://console.groq.com/docs/deprecations"),
    // OpenRouter. "No endpoints found that support tool use" is of the request.
    Row::new("404", Beginning("No endpoints found for "), NoModel, "https://github.com/vyancharuk/nodejs-api-boilerplate/issues/16"),
    // DeepSeek
    Row::new(BAD, Whole("Model Not Exist"), NoModel, "https://api-docs.deepseek.com/quick_start/error_codes"),
    // Moonshot
    Row::new("resource_not_found_error", Beginning("Not found the model "), NoModel, "https://platform.moonshot.ai/docs/api/chat"),
    // Mistral
    Row::new("invalid_model", Any, NoModel, "https://docs.mistral.ai/api"),
    // DashScope
    Row::new("Arrearage", Any, NoCredit, "https://github.com/alibaba/spring-ai-alibaba/issues/1146"),
    // Volcengine Ark
    Row::new("AccountOverdueError", Any, NoCredit, "https://www.volcengine.com/docs/82379/1299023"),
    Row::new("ModelNotOpen", Any, NoModel, "https://www.volcengine.com/docs/82379/1299023"),
    Row::new("InvalidEndpointOrModel.NotFound", Any, NoModel, "https://www.volcengine.com/docs/82379/1299023"),
    // SiliconFlow
    Row::new("20012", Beginning("Model does not exist."), NoModel, "https://docs.siliconflow.com/en/faqs/error-code"),
    // Azure
    Row::new("DeploymentNotFound", Any, NoModel, "https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/create-resource"),
    // vLLM, Ollama
    Row::new("NotFoundError", Beginning("The model `"), NoModel, "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html"),
    Row::new("not_found_error", Beginning("model '"), NoModel, "https://github.com/ollama/ollama/blob/main/docs/openai.md"),
];
