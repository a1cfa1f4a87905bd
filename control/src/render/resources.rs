//! The resources of a document's accounts: clusters and secrets, however Envoy gets them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trilane::config::account::Account;
use trilane::config::origin::Origin;
use trilane_console::credentials::CredentialDestination;

use super::account_cluster::{self, Identity};
use super::credential::CredentialState;
use super::envoy::{SecretReference, SecretSource};
use super::findings::Findings;
use super::given::{self, GivenFile};
use super::label;
use super::paths::Paths;
use super::proxy;
use super::secret::RenderedSecret;
use super::sources::SourceGroup;
use super::{authorities, binding, credential};
use crate::ads::SecretValue;
use crate::watched_files::WatchedFiles;

/// The clusters and secrets of a document.
#[derive(Debug, Default)]
pub struct Resources {
    /// The secrets by their names.
    pub secrets: BTreeMap<String, RenderedSecret>,
    /// The clusters, in the order of the document.
    pub clusters: Vec<Value>,
    /// The number of accounts.
    pub accounts: usize,
    /// The accounts that have no credential, as `group/account`.
    pub absent: Vec<String>,
    /// Their clusters.
    pub unserved: BTreeSet<String>,
}

impl Resources {
    /// Renders sources, and reads every file that they name. The clusters take their secrets from `secrets`.
    pub fn new(
        sources: &[SourceGroup],
        paths: &Paths,
        secrets: SecretSource<'_>,
        findings: &mut Findings,
        seen: &mut WatchedFiles,
    ) -> Self {
        let mut renderer = Renderer {
            paths,
            source_of_secrets: secrets,
            findings,
            seen,
            secrets: BTreeMap::new(),
            absent: Vec::new(),
            unserved: BTreeSet::new(),
        };
        let mut clusters = Vec::new();
        for source in sources {
            clusters.extend(renderer.source(source));
        }
        Self {
            accounts: sources.iter().map(|s| s.accounts.accounts.len()).sum(),
            secrets: renderer.secrets,
            absent: renderer.absent,
            unserved: renderer.unserved,
            clusters,
        }
    }
}

/// The state of a rendering.
struct Renderer<'a> {
    paths: &'a Paths,
    source_of_secrets: SecretSource<'a>,
    findings: &'a mut Findings,
    seen: &'a mut WatchedFiles,
    secrets: BTreeMap<String, RenderedSecret>,
    absent: Vec<String>,
    unserved: BTreeSet<String>,
}

impl Renderer<'_> {
    fn source(&mut self, source: &SourceGroup) -> Vec<Value> {
        let mut clusters = Vec::new();
        let accounts = source.accounts.accounts.iter();
        for (i, (account, name)) in accounts.zip(&source.accounts.clusters).enumerate() {
            clusters.extend(self.account(source, i, account, name));
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
        let mut unused = None;
        let (secret, credential) = match given {
            Some(Ok(GivenFile {
                destination,
                file,
                unused: why,
            })) => {
                unused = why;
                let secret = label::account_given(&source.group, &account.id, &destination);
                (secret, Some(file))
            }
            Some(Err(what)) => {
                self.problem(&at, what);
                (label.clone(), None)
            }
            None => (label.clone(), self.named(&account.credential, &at)),
        };
        if let Some(credential) = credential {
            let shown = format!("{}/{}", source.group, account.id);
            let value = match (unused, destination) {
                (Some(why), Some(destination)) => {
                    self.lacks_credential(&at, &shown, account, destination, &why);
                    Some(SecretValue::NONE)
                }
                _ => self.credential(&credential, &at, &shown),
            };
            if value.as_ref().is_none_or(SecretValue::is_none) {
                self.unserved.insert(cluster.to_owned());
            }
            let rendered = RenderedSecret {
                file: credential,
                value,
            };
            self.secrets.insert(secret.clone(), rendered);
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
                secret: &self.source_of_secrets.reference(secret),
                authorities: authorities.as_ref(),
                proxy: proxy
                    .as_ref()
                    .map(|(proxy, (name, _))| (*proxy, name.as_str())),
                only: !source.accounts.are_alternatives(),
                judge: self.paths.judge.as_deref(),
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

    /// The credential in a file; `None`: it cannot be known. What is wrong with it is noted.
    fn credential(&mut self, file: &Path, at: &str, account: &str) -> Option<SecretValue> {
        let shown = file.display();
        self.seen.note(file);
        let (what, value) = match credential::read(file) {
            CredentialState::Valid(value) => return Some(value),
            CredentialState::Unavailable(what) => (what, Some(SecretValue::NONE)),
            CredentialState::Unreadable(what) => (what, None),
            CredentialState::NoDirectory if self.source_of_secrets.is_watched_by_envoy() => {
                self.problem(
                    at,
                    &format!(
                        "{shown} has no directory: make it before Envoy starts, which never sees one that comes later"
                    ),
                );
                return None;
            }
            // It is looked for again.
            CredentialState::NoDirectory => ("is missing", Some(SecretValue::NONE)),
            CredentialState::Invalid(what) => {
                self.problem(
                    at,
                    &format!("{shown} {what}: write the credential alone, on one line"),
                );
                return None;
            }
        };
        self.absent.push(account.to_owned());
        self.findings.warnings.push(format!(
            "{at}: {shown} {what}: account {account} serves nothing until a good one is renamed to that name"
        ));
        value
    }

    /// The authorities that an account's certificate is checked against; `None` if the document names them wrongly.
    fn authorities(&mut self, own: Option<&str>, at: &str) -> Option<SecretReference> {
        let (file, at) = match own {
            Some(own) => (self.named(own, at)?, at),
            None => (self.paths.system_ca.clone(), "--system-ca"),
        };
        let name = label::authorities(&file);
        // Each file is read once.
        if !self.secrets.contains_key(&name) {
            self.seen.note(&file);
            let value = match authorities::read(&file) {
                Ok(found) => Some(SecretValue::Authorities(found)),
                Err(what) => {
                    self.problem(at, &format!("{} {what}", file.display()));
                    None
                }
            };
            self.secrets
                .insert(name.clone(), RenderedSecret { file, value });
        }
        Some(self.source_of_secrets.reference(name))
    }

    fn named(&mut self, file: &str, at: &str) -> Option<PathBuf> {
        let named = self.paths.named(file);
        named.map_err(|what| self.problem(at, what)).ok()
    }

    fn problem(&mut self, at: &str, what: &str) {
        self.findings.problems.push(format!("{at}: {what}"));
    }
}
