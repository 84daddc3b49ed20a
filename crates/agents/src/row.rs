//! The agents Althing knows, one row each. A new one is a row here and, where it writes something
//! new, a reader.

use crate::reader::Format;

/// How an agent is called, as data. In arguments `{model}`, `{effort}`, `{folder}` and `{limits}`
/// are filled in.
#[derive(Debug)]
pub struct Row {
    /// What a person calls it, and its command.
    pub name: &'static str,
    /// Its id as a model; `id:model` names a model of it too.
    pub id: &'static str,
    /// What installs it.
    pub install: &'static str,
    /// What logs in.
    pub login: &'static str,
    /// Arguments of every call. The prompt comes on standard input.
    pub arguments: &'static [&'static str],
    /// Where a model, an effort is named.
    pub model: &'static [&'static str],
    pub effort: &'static [&'static str],
    /// What keeps it from doing anything but answering, and anything but reading.
    pub without_tools: Access,
    pub reading: Access,
    /// What comes after everything else.
    pub last: &'static [&'static str],
    /// Variables it gets beside the common ones; a `*` ends a prefix.
    pub variables: &'static [&'static str],
    /// Those among them that hold a key which is paid for by use.
    pub keys: &'static [&'static str],
    /// Variables that are set for every call.
    pub set: &'static [(&'static str, &'static str)],
    /// The variable that names the folder of its configuration.
    pub config: &'static str,
    pub format: Format,
    /// What tells its version, on the first line that has a digit.
    pub version: &'static [&'static str],
    pub logged_in: Login,
}

/// Arguments, variables and a file that limit an agent.
#[derive(Debug)]
pub struct Access {
    pub arguments: &'static [&'static str],
    pub variables: &'static [(&'static str, &'static str)],
    /// The text of a file whose path is `{limits}`; empty: there is none.
    pub limits: &'static str,
}

/// How to learn whether an agent is logged in.
#[derive(Debug)]
pub struct Login {
    /// Any of these variables is a login too.
    pub keys: &'static [&'static str],
    /// Arguments of a command that says so; empty: there is none, and files tell.
    pub arguments: &'static [&'static str],
    /// Words of its answer that mean no.
    pub no: &'static str,
    /// Files below the home folder that a login leaves.
    pub files: &'static [&'static str],
}

/// Every agent that is known.
pub static ROWS: &[Row] = &[CLAUDE, CODEX, GEMINI, OPENCODE];

/// The row of a name (`claude`) or an id (`claude-cli`).
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name || row.id == name)
}

const CLAUDE: Row = Row {
    name: "claude",
    id: "claude-cli",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "run `claude` and log in, or set ANTHROPIC_API_KEY",
    arguments: &[
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--no-session-persistence",
        "--disable-slash-commands",
        "--strict-mcp-config",
    ],
    model: &["--model", "{model}"],
    effort: &["--effort", "{effort}"],
    without_tools: Access { arguments: &["--tools", ""], variables: &[], limits: "" },
    reading: Access {
        arguments: &["--tools", "Read,Grep,Glob", "--allowedTools", "Read,Grep,Glob"],
        variables: &[],
        limits: "",
    },
    last: &[],
    variables: &[
        "ANTHROPIC_*",
        "CLAUDE_CODE_*",
        "CLAUDE_CONFIG_DIR",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_BEARER_TOKEN_BEDROCK",
    ],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"],
    set: &[("DISABLE_AUTOUPDATER", "1"), ("DISABLE_TELEMETRY", "1")],
    config: "CLAUDE_CONFIG_DIR",
    format: Format::Claude,
    version: &["--version"],
    logged_in: Login {
        keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        arguments: &["auth", "status"],
        no: "\"loggedIn\": false",
        files: &[],
    },
};

const CODEX: Row = Row {
    name: "codex",
    id: "codex-cli",
    install: "npm install -g @openai/codex",
    login: "run `codex login`",
    arguments: &["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--color", "never"],
    model: &["-m", "{model}"],
    effort: &["-c", "model_reasoning_effort={effort}"],
    without_tools: Access {
        arguments: &[
            "-s",
            "read-only",
            "-c",
            "features.shell_tool=false",
            "-c",
            "features.unified_exec=false",
            "-c",
            "features.view_image=false",
            "-c",
            "features.multi_agent=false",
            "-c",
            "features.goals=false",
            "-c",
            "web_search=disabled",
            "-C",
            "{folder}",
        ],
        variables: &[],
        limits: "",
    },
    reading: Access {
        arguments: &[
            "-s",
            "read-only",
            "-c",
            "features.multi_agent=false",
            "-c",
            "features.goals=false",
            "-c",
            "web_search=disabled",
            "-C",
            "{folder}",
        ],
        variables: &[],
        limits: "",
    },
    last: &["-"],
    variables: &[
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORGANIZATION",
        "OPENAI_PROJECT",
        "CODEX_HOME",
        "CODEX_API_KEY",
        "CODEX_CA_CERTIFICATE",
        "AZURE_OPENAI_API_KEY",
    ],
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY"],
    set: &[],
    config: "CODEX_HOME",
    format: Format::Codex,
    version: &["--version"],
    logged_in: Login {
        keys: &["CODEX_API_KEY"],
        arguments: &["login", "status"],
        no: "Not logged in",
        files: &[],
    },
};

const GEMINI: Row = Row {
    name: "gemini",
    id: "gemini-cli",
    install: "npm install -g @google/gemini-cli",
    login: "run `gemini` and log in, or set GEMINI_API_KEY",
    arguments: &[
        "-o",
        "stream-json",
        "--skip-trust",
        "-e",
        "none",
        "--allowed-mcp-server-names",
        "none",
        // Its plan mode may be left by the model itself, so a policy says more.
        "--approval-mode",
        "plan",
        "--admin-policy",
        "{limits}",
    ],
    model: &["-m", "{model}"],
    effort: &[],
    without_tools: Access {
        arguments: &[],
        variables: &[],
        limits: "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 900\n",
    },
    reading: Access {
        arguments: &[],
        variables: &[],
        limits: "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 900\n\n\
                 [[rule]]\n\
                 toolName = [\"read_file\", \"list_directory\", \"glob\", \"grep_search\"]\n\
                 decision = \"allow\"\npriority = 950\n",
    },
    last: &[],
    variables: &["GEMINI_*", "GOOGLE_*"],
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    set: &[],
    config: "GEMINI_CLI_HOME",
    format: Format::Gemini,
    version: &["--version"],
    logged_in: Login {
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
        arguments: &[],
        no: "",
        files: &[".gemini/oauth_creds.json"],
    },
};

const OPENCODE: Row = Row {
    name: "opencode",
    id: "opencode-cli",
    install: "npm install -g opencode-ai",
    login: "run `opencode auth login`",
    // With a title of its own it does not ask a model for one.
    arguments: &["run", "--format", "json", "--pure", "--title", "althing", "--dir", "{folder}"],
    model: &["-m", "{model}"],
    effort: &["--variant", "{effort}"],
    // Nothing may resolve to `ask`: nobody is there to be asked.
    without_tools: Access {
        arguments: &[],
        variables: &[("OPENCODE_PERMISSION", r#"{"*":"deny"}"#)],
        limits: "",
    },
    reading: Access {
        arguments: &[],
        variables: &[(
            "OPENCODE_PERMISSION",
            r#"{"*":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}"#,
        )],
        limits: "",
    },
    last: &[],
    variables: &[
        "OPENCODE_*",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_*",
        "OPENROUTER_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "XAI_API_KEY",
    ],
    keys: &[
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENROUTER_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "XAI_API_KEY",
    ],
    set: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    config: "XDG_CONFIG_HOME",
    format: Format::OpenCode,
    version: &["--version"],
    logged_in: Login {
        keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"],
        arguments: &["auth", "list"],
        no: " 0 credentials",
        files: &[],
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_name_and_its_id() {
        for row in ROWS {
            assert_eq!(row.id, format!("{}-cli", row.name));
            assert!(std::ptr::eq(find(row.name).unwrap(), row));
            assert!(std::ptr::eq(find(row.id).unwrap(), row));
            assert!(!row.keys.is_empty(), "{}", row.name);
        }
        assert!(find("bash").is_none());
    }
}
