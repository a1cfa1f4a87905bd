//! The files of a document's accounts, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trilane::config::account::{Account, account_cluster, source_cluster};
use trilane::config::origin::Origin;
use trilane_console::credentials::CredentialDestination;

use super::account_cluster::{self, Identity};
use super::credential::CredentialState;
use super::findings::Findings;
use super::given::{self, GivenFile};
use super::label;
use super::paths::Paths;
use super::proxy;
use super::secret;
use super::signed;
use super::sources::SourceGroup;
use super::tls::Authorities;
use super::{authorities, binding, credential, envoy};
use crate::watched_files::WatchedFiles;

/// All that a pass writes.
#[derive(Debug, Default)]
pub struct Rendering {
    /// The secrets: the content of each file by its name.
    pub secrets: BTreeMap<String, String>,
    /// The file of clusters.
    pub clusters: Value,
    /// The clusters that Envoy can take at once, with their digests. It refuses to change one whose credential is missing.
    pub takeable: BTreeMap<String, String>,
    /// The number of accounts.
    pub accounts: usize,
    /// The number of those that have no credential.
    pub without_credential: usize,
}

impl Rendering {
    /// Renders sources, and checks every file that they name.
    pub fn new(
        sources: &[SourceGroup],
        paths: &Paths,
        findings: &mut Findings,
        seen: &mut WatchedFiles,
    ) -> Self {
        let mut renderer = Renderer {
            paths,
            findings,
            seen,
            secrets: BTreeMap::new(),
            authorities: BTreeMap::new(),
            absent: Vec::new(),
            unserved: BTreeSet::new(),
        };
        let mut clusters = Vec::new();
        for source in sources {
            clusters.extend(renderer.source(source).into_iter().map(signed::sign));
        }
        let version = if renderer.absent.is_empty() {
            "every credential was there".to_owned()
        } else {
            format!("without a credential: {}", renderer.absent.join(" "))
        };
        let mut response = envoy::response(envoy::CLUSTER, clusters);
        if let Some(response) = response.as_object_mut() {
            // Envoy refuses to change a cluster while its credential is missing. This line makes the file differ once
            // the credential is there, so that the next run of the command offers the change again.
            response.insert("version_info".to_owned(), Value::String(version));
        }
        let mut takeable = signed::digests(&response);
        takeable.retain(|name, _| !renderer.unserved.contains(name));
        Self {
            takeable,
            without_credential: renderer.absent.len(),
            accounts: sources.iter().map(|s| s.accounts.accounts.len()).sum(),
            secrets: renderer.secrets,
            clusters: response,
        }
    }
}

/// The state of a rendering.
struct Renderer<'a> {
    paths: &'a Paths,
    findings: &'a mut Findings,
    seen: &'a mut WatchedFiles,
    secrets: BTreeMap<String, String>,
    /// The files of authorities by their labels; each is checked once.
    authorities: BTreeMap<String, PathBuf>,
    /// The accounts whose credential is unavailable.
    absent: Vec<String>,
    /// Their clusters.
    unserved: BTreeSet<String>,
}

impl Renderer<'_> {
    fn source(&mut self, source: &SourceGroup) -> Vec<Value> {
        let accounts = &source.accounts.accounts;
        if let [account] = accounts.as_slice() {
            return self.account(source, 0, account, &source_cluster(&source.group));
        }
        let mut clusters = Vec::new();
        for (i, account) in accounts.iter().enumerate() {
            let name = account_cluster(&source.group, &account.id);
            clusters.extend(self.account(source, i, account, &name));
        }
        clusters
    }

    /// The cluster of an account, after that of its proxy if it has one.
    fn account(
        &mut self,
        source: &SourceGroup,
        i: usize,
        account: &Account,
        cluster: &str,
    ) -> Vec<Value> {
        let proxy = account.proxy.as_ref();
        let proxy = proxy.map(|proxy| (proxy, self.proxy(source, i, account, proxy)));
        let label = label::account(&source.group, &account.id);
        let at = source.place(i, "credential");
        let destination = source.given_for.get(i);
        let given = destination
            .and_then(|destination| given::find(self.paths, account, destination, self.seen));
        let of_account = || {
            let file = label::secret_file(&source.group, &account.id);
            (label.clone(), file)
        };
        let mut unused = None;
        let ((secret, file), credential) = match given {
            Some(Ok(GivenFile {
                destination,
                file,
                unused: why,
            })) => {
                unused = why;
                let secret = label::account_given(&source.group, &account.id, &destination);
                let names = label::given_file(&source.group, &account.id, &destination);
                ((secret, names), Some(file))
            }
            Some(Err(what)) => {
                self.problem(&at, what);
                (of_account(), None)
            }
            None => (of_account(), self.named(&account.credential, &at)),
        };
        if let Some(credential) = credential {
            let shown = format!("{}/{}", source.group, account.id);
            let has = match (unused, destination) {
                (Some(why), Some(destination)) => {
                    self.lacks_credential(&at, &shown, account, destination, &why);
                    false
                }
                _ => self.has_credential(&credential, &at, &shown),
            };
            if !has {
                self.unserved.insert(cluster.to_owned());
            }
            let content = secret::credential(&secret, &credential);
            self.secrets.insert(file.clone(), text(&content));
        }
        let authorities = account
            .origin
            .tls
            .then(|| self.authorities(account.ca.as_deref(), &source.place(i, "ca")))
            .flatten();
        let own = account_cluster::cluster(
            account,
            &Identity {
                cluster,
                label: &label,
                secret: &secret,
                secret_file: &self.secret_path(&file),
                authorities: authorities.as_ref(),
                proxy: proxy
                    .as_ref()
                    .map(|(proxy, (name, _))| (*proxy, name.as_str())),
                only: source.accounts.accounts.len() == 1,
            },
        );
        let proxy = proxy.map(|(_, (_, cluster))| cluster);
        proxy.into_iter().chain([own]).collect()
    }

    /// The name and the cluster of an account's proxy.
    fn proxy(
        &mut self,
        source: &SourceGroup,
        i: usize,
        account: &Account,
        proxy: &Origin,
    ) -> (String, Value) {
        // Its own `ca` is the account's.
        let authorities = proxy
            .tls
            .then(|| self.authorities(None, &source.place(i, "proxy")))
            .flatten();
        let name = proxy::cluster_name(&source.group, &account.id);
        let label = label::proxy(&source.group, &account.id);
        let cluster = proxy::cluster(proxy, &name, &label, authorities.as_ref());
        (name, cluster)
    }

    /// Notes that neither the console nor this machine has a credential for where an account is.
    fn lacks_credential(
        &mut self,
        at: &str,
        shown: &str,
        account: &Account,
        destination: &CredentialDestination,
        why: &str,
    ) {
        self.absent.push(shown.to_owned());
        self.findings.warnings.push(format!(
            "{at}: account {shown} serves nothing: the console has no credential {} for {}, and {why}",
            account.credential,
            binding::line(destination),
        ));
    }

    /// Whether the credential is there. What is wrong with it is noted.
    fn has_credential(&mut self, file: &Path, at: &str, account: &str) -> bool {
        let shown = file.display();
        self.seen.note(file);
        let state = credential::inspect(file);
        let is_there = matches!(state, CredentialState::Valid);
        match state {
            CredentialState::Valid => {}
            CredentialState::Unavailable(what) => {
                self.absent.push(account.to_owned());
                self.findings.warnings.push(format!(
                    "{at}: {shown} {what}: account {account} serves nothing until a good one is renamed to that name"
                ));
            }
            CredentialState::Invalid(what) => self.problem(
                at,
                &format!("{shown} {what}: write the credential alone, on one line"),
            ),
            CredentialState::NoDirectory => self.problem(
                at,
                &format!(
                    "{shown} has no directory: make it before Envoy starts, which never sees one that comes later"
                ),
            ),
        }
        is_there
    }

    /// The authorities that an account's certificate is checked against; `None` if the document names them wrongly.
    fn authorities(&mut self, own: Option<&str>, at: &str) -> Option<Authorities> {
        let (file, at) = match own {
            Some(own) => (self.named(own, at)?, at),
            None => (self.paths.system_ca.clone(), "--system-ca"),
        };
        let label = label::authorities(&file);
        let name = format!("{label}.json");
        if !self.authorities.contains_key(&label) {
            self.seen.note(&file);
            if let Err(what) = authorities::inspect(&file) {
                self.problem(at, &format!("{} {what}", file.display()));
            }
            let content = text(&secret::authorities(&label, &file));
            self.secrets.insert(name.clone(), content);
            self.authorities.insert(label.clone(), file);
        }
        Some(Authorities {
            file: self.secret_path(&name),
            name: label,
        })
    }

    fn named(&mut self, file: &str, at: &str) -> Option<PathBuf> {
        let named = self.paths.named(file);
        named.map_err(|what| self.problem(at, what)).ok()
    }

    fn secret_path(&self, name: &str) -> String {
        self.paths.secrets().join(name).display().to_string()
    }

    fn problem(&mut self, at: &str, what: &str) {
        self.findings.problems.push(format!("{at}: {what}"));
    }
}

/// The content of a file.
pub fn text(value: &Value) -> String {
    format!("{value:#}\n")
}
