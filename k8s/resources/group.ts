/** The API group and version of the custom resources. */
export const group = 'probatio.dev';
export const version = 'v1alpha1';
export const apiVersion = `${group}/${version}`;

/** The annotation of a SigningKey that asks for a rotation, once for each text that it has. */
export const rotateNowAnnotation = `${group}/rotate-now`;
